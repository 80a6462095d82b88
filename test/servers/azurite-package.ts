import { join } from 'node:path'
import { cached } from './cache.ts'
import { mustRun } from './run-command.ts'

export const azuriteVersion = '3.37.0'

/** The script of Azurite's blob service, installed once with npm. It is no dependency of the project: it brings hundreds along. */
export async function azuriteScript(): Promise<string> {
  const folder = await cached(`azurite-${azuriteVersion}`, async dir => {
    const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel', 'error']
    await mustRun('npm', ['install', '--prefix', dir, ...quiet, `azurite@${azuriteVersion}`], { cwd: dir })
  })
  return join(folder, 'node_modules/azurite/dist/src/blob/main.js')
}
