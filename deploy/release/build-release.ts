import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { manPages } from '../../docs/man-pages.ts'
import { type RunBuildah, saveImage } from './build-image.ts'
import { writeSingleFile } from './single-file.ts'

const run = promisify(execFile)
const MAX_OUTPUT_BYTES = 64 << 20

export interface ReleaseParts {
  /** The checkout, in which `npm run build` has run. */
  root: string
  /** Is replaced. */
  folder: string
  helm: string
  /** Builds the image and answers with its name in buildah's store; undefined leaves the image out. */
  image?: { build: (version: string) => Promise<string>; buildah: RunBuildah }
}

/** Builds the package, the executable, the chart, the image, the bill of materials and the checksums; answers with the names of the files. */
export async function buildRelease({ root, folder, helm, image }: ReleaseParts): Promise<string[]> {
  const version = await assertOneVersion(root)
  await writeManPages(root, version)
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  // Built before: to build again would remove dist/ under programs that use it.
  await run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], { cwd: root })
  await run(helm, ['package', join(root, 'deploy/helm/kafka-backup-operator'), '--destination', folder])
  await writeSingleFile(root, version, folder)
  if (image) await saveImage(await image.build(version), version, folder, image.buildah)
  await writeFile(join(folder, `kafka-backup-${version}.cdx.json`), await billOfMaterials(root))
  await writeChecksums(folder)
  return (await readdir(folder)).sort()
}

/** Package, chart and image must name the same version. */
export async function assertOneVersion(root: string): Promise<string> {
  const read = (path: string) => readFile(join(root, path), 'utf8')
  const version: string = JSON.parse(await read('package.json')).version
  const [chart, image] = [await read('deploy/helm/kafka-backup-operator/Chart.yaml'), await read('deploy/Dockerfile')]
  const named = {
    'version of Chart.yaml': /^version: "?([^"\n]+)"?$/m.exec(chart)?.[1],
    'appVersion of Chart.yaml': /^appVersion: "?([^"\n]+)"?$/m.exec(chart)?.[1],
    'VERSION of the Dockerfile': /^ARG VERSION=(.+)$/m.exec(image)?.[1],
  }
  const wrong = Object.entries(named).filter(([, one]) => one !== version)
  if (wrong.length === 0) return version
  const others = wrong.map(([what, one]) => `${what} is ${one}`).join(', ')
  throw new Error(`package.json has version ${version}, but ${others}`)
}

async function writeManPages(root: string, version: string): Promise<void> {
  const folder = join(root, 'dist/man')
  await mkdir(folder, { recursive: true })
  for (const [name, page] of manPages(version)) await writeFile(join(folder, name), page)
}

interface Component {
  'bom-ref': string
  type?: string
  name?: string
  version?: string
  properties?: { name: string; value: string }[]
}

interface BillOfMaterials {
  metadata: { component: { name: string } }
  components: Component[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

/**
 * CycloneDX, of what is installed with the package. `npm sbom --omit dev` leaves out packages that a tool of the project
 * needs too, so tools are removed here. npm calls the package by the folder of the checkout.
 */
async function billOfMaterials(root: string): Promise<string> {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application']
  const { stdout } = await run('npm', args, { cwd: root, maxBuffer: MAX_OUTPUT_BYTES })
  const bill: BillOfMaterials = JSON.parse(stdout)
  const isTool = ({ properties = [] }: Component) =>
    properties.some(({ name, value }) => name === 'cdx:npm:package:development' && value === 'true')
  const tools = new Set(bill.components.filter(isTool).map(one => one['bom-ref']))
  const isShipped = (ref: string) => !tools.has(ref)
  bill.metadata.component.name = 'kafka-backup'
  const dockerfile = await readFile(join(root, 'deploy/Dockerfile'), 'utf8')
  bill.components = [...bill.components.filter(one => isShipped(one['bom-ref'])), ...platforms(dockerfile)]
  bill.dependencies = bill.dependencies
    .filter(({ ref }) => isShipped(ref))
    .map(one => ({ ...one, dependsOn: one.dependsOn.filter(isShipped) }))
  return `${JSON.stringify(bill, null, 2)}\n`
}

/** What the image and the executable contain next to packages of npm: images that the Dockerfile builds on, and Node.js. */
function platforms(dockerfile: string): Component[] {
  const images = [...dockerfile.matchAll(/^ARG \w+_IMAGE=([^@\s]+)@(sha256:[0-9a-f]{64})$/gm)]
  return [
    ...images.map(([, name = '', digest = '']) => ({
      'bom-ref': `${name}@${digest}`,
      type: 'container',
      name,
      version: digest,
    })),
    { 'bom-ref': `node@${process.version}`, type: 'platform', name: 'node', version: process.version },
  ]
}

/** As `sha256sum --check` reads it. */
async function writeChecksums(folder: string): Promise<void> {
  const lines: string[] = []
  for (const name of (await readdir(folder)).sort()) {
    const hash = createHash('sha256')
    await pipeline(createReadStream(join(folder, name)), hash)
    lines.push(`${hash.digest('hex')}  ${name}\n`)
  }
  await writeFile(join(folder, 'SHA256SUMS'), lines.join(''))
}
