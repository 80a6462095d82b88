import { join, resolve } from 'node:path'
import { helmBinary } from '../../test/servers/helm-binary.ts'
import { buildRelease } from './build-release.ts'

/** `make release`: builds everything that a release publishes into release/, and publishes nothing. */
const root = resolve(import.meta.dirname, '../..')
const folder = join(root, 'release')
const files = await buildRelease({ root, folder, helm: await helmBinary() })
process.stdout.write(`${files.map(file => join('release', file)).join('\n')}\n`)
