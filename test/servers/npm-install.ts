import { dirname } from 'node:path'
import { mustDownload } from './download.ts'

const patience = ['--fetch-retries=5', '--fetch-timeout=60000']
const quiet = ['--no-audit', '--no-fund', '--loglevel=error']

/** Runs `npm install` in the folder, with the Node.js of the project: npm takes other versions for another one. */
export function npmInstall(dir: string, args: readonly string[]): Promise<void> {
  return runNpm('install', dir, args)
}

/** Installs exactly what the lock file in the folder names. */
export function npmCleanInstall(dir: string, args: readonly string[]): Promise<void> {
  return runNpm('ci', dir, args)
}

async function runNpm(command: string, dir: string, args: readonly string[]): Promise<void> {
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` }
  await mustDownload('npm', [command, ...patience, ...quiet, ...args], { cwd: dir, env })
}
