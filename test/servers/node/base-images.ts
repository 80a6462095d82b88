import { createHash } from 'node:crypto'
import { cp, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { cached } from '../cache.ts'
import { mustDownload } from '../download.ts'
import { mustRun } from '../run-command.ts'
import { buildWithBuildah, saveImage } from './buildah.ts'

/** Stand-ins for the base images of deploy/Dockerfile, by the names of its arguments. */
export const baseImages = { NODE_IMAGE: 'localhost/node:stand-in', BASE_IMAGE: 'localhost/debian:stand-in' }

/** Where the stand-in for Node's image expects the packages of npm; it downloads nothing. */
export const npmCacheInImage = '/npm-cache'

/** What a small image of Debian has of which images of Node make use; their dependencies come with them. */
const packages = [
  ...['base-files', 'base-passwd', 'bash', 'coreutils', 'dash', 'findutils', 'grep', 'gzip'],
  ...['libc-bin', 'libstdc++6', 'sed', 'tar', 'tzdata'],
]
const node = resolve(import.meta.dirname, '../../../node_modules/node/bin/node')
const files = {
  base: `FROM scratch\nCOPY . /\nENTRYPOINT ["/usr/bin/sleep", "infinity"]\n`,
  node: `FROM ${baseImages.BASE_IMAGE}
COPY . /
ENV npm_config_cache=${npmCacheInImage} npm_config_offline=true npm_config_update_notifier=false npm_config_logs_max=0
ENTRYPOINT []
CMD ["node"]\n`,
}

/**
 * A folder with a store of buildah (`store`), which has stand-ins for both base images: packages of this machine's
 * distribution, the Node.js that the project pins, and this machine's npm. No registry of images is asked. `pause.tar` is an
 * archive of the first of them.
 */
export async function baseImageStore(): Promise<string> {
  const versions = [process.version, await mustRun('npm', ['--version'])]
  const key = createHash('sha256').update(JSON.stringify([packages, files, versions]))
  return cached(`base-images-${key.digest('hex').slice(0, 16)}`, build)
}

async function build(dir: string): Promise<void> {
  const [debs, root, layer] = ['debs', 'root', 'layer'].map(name => join(dir, name)) as [string, string, string]
  await download(debs)
  await unpack(debs, root)
  await cp(node, join(layer, 'usr/local/bin/node'), { dereference: true })
  await cp(await npmFolder(), join(layer, 'usr/local/lib/node_modules/npm'), { recursive: true })
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(layer, 'usr/local/bin/npm'))
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, `${name}.dockerfile`), text)
  const options = { store: join(dir, 'store') }
  const make = (name: string, file: string, context: string) =>
    buildWithBuildah(options, name, { file: join(dir, `${file}.dockerfile`), context })
  await make(baseImages.BASE_IMAGE, 'base', root)
  await make(baseImages.NODE_IMAGE, 'node', layer)
  await saveImage(options, baseImages.BASE_IMAGE, join(dir, 'pause.tar'))
  for (const path of [debs, root, layer]) await rm(path, { recursive: true })
}

/** With the machine's own settings of apt, for a machine that has nothing installed. */
async function download(debs: string): Promise<void> {
  await mkdir(join(debs, 'partial'), { recursive: true })
  const status = join(debs, 'status')
  await writeFile(status, '')
  const settings = { 'Dir::State::status': status, 'Dir::Cache::archives': debs, 'Acquire::Retries': '5' }
  const options = Object.entries({ ...settings, 'Debug::NoLocking': '1', 'APT::Sandbox::User': 'root' })
  const flags = options.flatMap(([name, value]) => ['-o', `${name}=${value}`])
  const fetch = ['--no-install-recommends', '--download-only', '-y', 'install', ...packages]
  await mustDownload('apt-get', [...flags, ...fetch], { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } })
}

/** Without the scripts of the packages: of what they do, programs here need the cache of libraries and the list of users. */
async function unpack(debs: string, root: string): Promise<void> {
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) {
    await mkdir(join(root, 'usr', name), { recursive: true })
    await symlink(join('usr', name), join(root, name))
  }
  const archives = (await readdir(debs)).filter(name => name.endsWith('.deb'))
  const script = 'dpkg-deb --fsys-tarfile "$1" | tar --extract --keep-directory-symlink --directory "$2"'
  for (const name of archives) await mustRun('sh', ['-c', script, 'sh', join(debs, name), root])
  await mustRun('chroot', [root, '/sbin/ldconfig'])
  for (const name of ['passwd', 'group']) {
    await cp(join(root, `usr/share/base-passwd/${name}.master`), join(root, 'etc', name))
  }
}

async function npmFolder(): Promise<string> {
  return join((await mustRun('npm', ['root', '--global', '--loglevel=silent'])).trim(), 'npm')
}
