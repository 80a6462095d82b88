import { systemProgram } from './system-program.ts'

export function nginxBinary(): Promise<string> {
  return systemProgram('nginx', 'nginx-light')
}
