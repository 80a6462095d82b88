import { dirname } from 'node:path'
import { mustDownload } from './download.ts'

const patience = ['--fetch-retries=5', '--fetch-timeout=60000']
const quiet = ['--no-audit', '--no-fund', '--loglevel=error']

/** Runs `npm install` in the folder, with the Node.js of the project: npm takes other versions for another one. */
export async function npmInstall(dir: string, args: readonly string[]): Promise<void> {
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` }
  await mustDownload('npm', ['install', ...patience, ...quiet, ...args], { cwd: dir, env })
}
