import { mustRun, runCommand } from './run-command.ts'

/** The program of the system, installed where it is missing. */
export async function nginxBinary(): Promise<string> {
  const find = () => runCommand('sh', ['-c', 'command -v nginx || command -v /usr/sbin/nginx'])
  const found = await find()
  if (found.exitCode === 0) return found.stdout.trim()
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  await mustRun('apt-get', ['update'], { env })
  await mustRun('apt-get', ['install', '-y', '--no-install-recommends', 'nginx-light'], { env })
  return (await find()).stdout.trim()
}
