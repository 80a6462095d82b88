import { mustRun, runCommand } from './run-command.ts'

/** The program of the system, installed where it is missing. Its service is not started. */
export async function etcdBinary(): Promise<string> {
  const find = () => runCommand('sh', ['-c', 'command -v etcd'])
  const found = await find()
  if (found.exitCode === 0) return found.stdout.trim()
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  await mustRun('apt-get', ['update'], { env })
  await mustRun('apt-get', ['install', '-y', '--no-install-recommends', 'etcd-server'], { env })
  return (await find()).stdout.trim()
}
