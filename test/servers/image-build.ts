import { globSync } from 'node:fs'
import { cp, mkdir, readFile, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { fillIn, type Instruction, parseDockerfile, parsePairs, type Stage } from './dockerfile.ts'
import { mustRun } from './run-command.ts'

export interface BuiltImage {
  /** What the last stage put over its base. */
  layer: string
  env: Record<string, string>
  labels: Record<string, string>
  user: string
  workingDir: string
  entrypoint: string[]
  cmd: string[]
}

export interface BuildOptions {
  dockerfile: string
  context: string
  /** A folder of the build's own. */
  folder: string
  /** What an image has that this machine lacks, by the start of the image's name: paths in it and files here. */
  bases: Record<string, Record<string, string>>
  /** Further variables for the commands. */
  env: Record<string, string>
  /** Folders of this machine that the commands see in the same place; they can lie on another file system. */
  mounts: readonly string[]
}

interface StageState {
  env: Record<string, string>
  mounts: readonly string[]
  /** Of ARG, with their defaults. */
  args: Record<string, string>
  /** Of ARG before the first stage. */
  globals: Record<string, string>
  layer: string
  work: string
  root: string
  workingDir: string
  built: BuiltImage
}

/**
 * Does what a Dockerfile says without a builder of images. In the place of a base image is this machine's file system,
 * under a layer that takes all writes; commands run in mount namespaces of their own, as root. It knows the
 * instructions that the project's file has and refuses others.
 */
export async function buildImage(options: BuildOptions): Promise<BuiltImage> {
  const context = await gatherContext(options)
  const layers: Record<string, string> = {}
  let built: BuiltImage | undefined
  for (const stage of parseDockerfile(await readFile(options.dockerfile, 'utf8'))) {
    const state = await openStage(options, stage)
    for (const instruction of stage.instructions) await run(state, instruction, context, layers)
    layers[stage.name] = state.layer
    built = { ...state.built, workingDir: state.workingDir }
  }
  if (built === undefined) throw new Error(`${options.dockerfile} has no stage`)
  return built
}

/** What `.dockerignore` lets through. It leaves out everything and names what is needed, so that nothing else gets in. */
async function gatherContext({ context, folder }: BuildOptions): Promise<string> {
  const lines = (await readFile(join(context, '.dockerignore'), 'utf8')).split('\n')
  const [first, ...names] = lines.filter(line => line !== '' && !line.startsWith('#'))
  if (first !== '*' || names.some(name => !name.startsWith('!')))
    throw new Error('.dockerignore is not a list of names')
  const gathered = join(folder, 'context')
  for (const name of names.map(each => each.slice(1))) {
    await mkdir(dirname(join(gathered, name)), { recursive: true })
    await cp(join(context, name), join(gathered, name), { recursive: true })
  }
  return gathered
}

async function openStage(options: BuildOptions, { base, name, globals }: Stage): Promise<StageState> {
  const { folder, bases, env, mounts } = options
  const [layer, work, root] = ['layer', 'work', 'root'].map(part => join(folder, name, part)) as [
    string,
    string,
    string,
  ]
  for (const path of [layer, work, root]) await mkdir(path, { recursive: true })
  const [, files = {}] = Object.entries(bases).find(([start]) => base.startsWith(start)) ?? []
  for (const [path, source] of Object.entries(files)) {
    await mkdir(dirname(join(layer, path)), { recursive: true })
    await cp(source, join(layer, path), { dereference: true })
  }
  const built = { layer, env: {}, labels: {}, user: '0', workingDir: '/', entrypoint: [], cmd: [] }
  return { env, mounts, args: {}, globals, layer, work, root, workingDir: '/', built }
}

async function run(
  state: StageState,
  { keyword, text }: Instruction,
  context: string,
  layers: Record<string, string>,
): Promise<void> {
  const { built } = state
  if (keyword === 'RUN') await runCommandIn(state, text)
  else if (keyword === 'COPY') await copy(state, text, context, layers)
  else if (keyword === 'WORKDIR') state.workingDir = resolve(state.workingDir, text)
  else if (keyword === 'ENV') Object.assign(built.env, parsePairs(text))
  else if (keyword === 'ARG') Object.assign(state.args, parseArg(text, state.globals))
  else if (keyword === 'LABEL') Object.assign(built.labels, parsePairs(fillIn(text, state.args)))
  else if (keyword === 'USER') built.user = text
  else if (keyword === 'ENTRYPOINT') built.entrypoint = JSON.parse(text)
  else if (keyword === 'CMD') built.cmd = JSON.parse(text)
  else throw new Error(`a Dockerfile with ${keyword} cannot be tried out here`)
}

/** `NAME=default`, or `NAME` of an argument before the first stage. */
function parseArg(text: string, globals: Record<string, string>): Record<string, string> {
  return text.includes('=') ? parsePairs(text) : { [text]: globals[text] ?? '' }
}

async function runCommandIn(state: StageState, command: string): Promise<void> {
  const { layer, work, root, workingDir, mounts } = state
  const script = `set -e
mount -t overlay -o "lowerdir=/,upperdir=$1,workdir=$2" overlay "$3"
mount -t proc proc "$3/proc"
mount --rbind /dev "$3/dev"
mkdir -p "$3$4"
root=$3 dir=$4 command=$5
shift 5
for mount; do mkdir -p "$root$mount"; mount --bind "$mount" "$root$mount"; done
exec chroot "$root" /bin/sh -c 'umask 022; cd "$1" && eval "$2"' sh "$dir" "$command"`
  const env = { ...process.env, ...state.env, PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' }
  const args = [
    '--mount',
    '--pid',
    '--fork',
    'sh',
    '-c',
    script,
    'sh',
    layer,
    work,
    root,
    workingDir,
    command,
    ...mounts,
  ]
  await mustRun('unshare', args, { env })
}

async function copy(
  { layer, workingDir }: StageState,
  text: string,
  context: string,
  layers: Record<string, string>,
): Promise<void> {
  const words = text.split(/\s+/)
  const from = words[0]?.startsWith('--from=') ? words.shift()?.slice('--from='.length) : undefined
  const source = from === undefined ? context : layers[from]
  const target = words.pop()
  if (source === undefined || target === undefined) throw new Error(`COPY ${text}: there is nothing to copy from`)
  const into = join(layer, resolve(workingDir, target))
  for (const word of words) {
    const paths = globSync(join(source, word))
    if (paths.length === 0) throw new Error(`COPY ${text}: ${word} is not there`)
    for (const path of paths) {
      // The content of a folder, but a file by its name.
      const isIntoFolder = target.endsWith('/') && (await stat(path)).isFile()
      await cp(path, isIntoFolder ? join(into, basename(path)) : into, { recursive: true, verbatimSymlinks: true })
    }
  }
}
