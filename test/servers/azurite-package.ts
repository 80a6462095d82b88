import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cached } from './cache.ts'
import { npmInstall } from './npm-install.ts'

export const azuriteVersion = '3.37.0'

/** Newer releases of this dependency require packages that a registry mirror can lack. Azurite uses it for telemetry. */
const overrides = { applicationinsights: '3.16.0' }

/** The script of Azurite's blob service. It is not a dependency of the project because it brings hundreds of packages. */
export async function azuriteScript(): Promise<string> {
  const folder = await cached(`azurite-${azuriteVersion}`, async dir => {
    const manifest = { private: true, dependencies: { azurite: azuriteVersion }, overrides }
    await writeFile(join(dir, 'package.json'), JSON.stringify(manifest))
    await npmInstall(dir, ['--ignore-scripts'])
  })
  return join(folder, 'node_modules/azurite/dist/src/blob/main.js')
}
