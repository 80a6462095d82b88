import { join, resolve } from 'node:path'
import { helmBinary } from '../../test/servers/helm-binary.ts'
import { buildImage, runBuildah } from './build-image.ts'
import { buildRelease } from './build-release.ts'

/** `make release`: builds everything that a release publishes into release/, and publishes nothing. `RELEASE_IMAGE=0` leaves the image out. */
const root = resolve(import.meta.dirname, '../..')
const folder = join(root, 'release')
const build = (version: string) => buildImage(root, version, runBuildah)
const image = process.env.RELEASE_IMAGE === '0' ? {} : { image: { build, buildah: runBuildah } }
const files = await buildRelease({ root, folder, helm: await helmBinary(), ...image })
process.stdout.write(`${files.map(file => join('release', file)).join('\n')}\n`)
