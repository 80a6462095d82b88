import { systemProgram } from './system-program.ts'

export function etcdBinary(): Promise<string> {
  return systemProgram('etcd', 'etcd-server')
}
