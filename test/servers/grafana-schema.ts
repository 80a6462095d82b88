import { join } from 'node:path'
import { cached } from './cache.ts'
import { mustRun } from './run-command.ts'

export const grafanaSchemaVersion = '13.2.3'

/**
 * A folder `node_modules` with the types that Grafana generates from its schemas and publishes, installed once with npm.
 * They are the only published form of the schema for dashboards of version 1: there is no JSON Schema of it.
 */
export async function grafanaSchemaModules(): Promise<string> {
  const folder = await cached(`grafana-schema-${grafanaSchemaVersion}`, async dir => {
    const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel', 'error']
    await mustRun('npm', ['install', '--prefix', dir, ...quiet, `@grafana/schema@${grafanaSchemaVersion}`], {
      cwd: dir,
    })
  })
  return join(folder, 'node_modules')
}
