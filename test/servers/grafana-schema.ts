import { join } from 'node:path'
import { cached } from './cache.ts'
import { npmInstall } from './npm-install.ts'

export const grafanaSchemaVersion = '13.2.3'

/**
 * A folder `node_modules` with the types that Grafana generates from its schemas and publishes, installed with npm.
 * They are the only published form of the schema for dashboards of version 1: there is no JSON Schema of it.
 */
export async function grafanaSchemaModules(): Promise<string> {
  const folder = await cached(`grafana-schema-${grafanaSchemaVersion}`, dir =>
    npmInstall(dir, ['--prefix', dir, '--ignore-scripts', `@grafana/schema@${grafanaSchemaVersion}`]),
  )
  return join(folder, 'node_modules')
}
