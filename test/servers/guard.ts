import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Writable } from 'node:stream'

/**
 * Child processes and temporary folders that do not outlive this process, however it ends. A watchdog shell holds the
 * read end of a pipe whose only writer is this process: when the pipe closes, after an exit as after SIGKILL, it kills
 * what is still registered and removes the folders. It runs in a session of its own, so Ctrl-C does not reach it.
 */
const watchdogScript = `
pids=' '; dirs=''; newline='
'
while read -r verb value; do
  case $verb in
    watch) pids="$pids$value " ;;
    forget) pids="\${pids%% $value *} \${pids#* $value }" ;;
    folder) dirs="$dirs$value$newline" ;;
  esac
done
for pid in $pids; do kill -s KILL -- "-$pid"; done
IFS=$newline
for dir in $dirs; do
  for try in 1 2 3 4 5; do rm -rf -- "$dir" && break; sleep 0.2; done
done
`

/** Waits to be told that the watchdog knows of it, then becomes the command; ends if the parent dies in between. */
const gateScript = 'read -r go <&3 || exit 1; exec 3<&-; exec "$@"'

let watchdog: Writable | undefined

export interface GuardOptions {
  cwd?: string
  env?: NodeJS.ProcessEnv
  /** Gets standard error; standard output too, unless it is piped. */
  logFile: string
  /** Standard input and output become pipes to this process; otherwise input is empty and output goes to the log. */
  piped?: boolean
}

export interface GuardedProcess {
  pid: number
  child: ChildProcess
  /** Resolves when the process has ended. */
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  hasExited(): boolean
  /** Sends the signal to the process and everything it started in its group. */
  signal(name: NodeJS.Signals): void
  /** Sends the signal and waits for the end of the process. */
  end(name: NodeJS.Signals): Promise<void>
}

/** Starts a command in a process group of its own. It does not keep this process alive. */
export function spawnGuarded(command: string, args: readonly string[], options: GuardOptions): GuardedProcess {
  const child = spawnGated(command, args, options)
  const { pid } = child
  if (pid === undefined) throw new Error(`could not start ${command}`)
  guardGroup(child)
  ;(child.stdio[3] as Writable).end('go\n')
  child.unref()

  let ended = false
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>(resolve => {
    child.once('exit', (code, signal) => {
      ended = true
      resolve({ code, signal })
    })
  })
  const signal = (name: NodeJS.Signals) => {
    if (!ended) process.kill(-pid, name)
  }
  const end = async (name: NodeJS.Signals) => {
    child.ref()
    signal(name)
    await exited
  }
  return { pid, child, exited, hasExited: () => ended, signal, end }
}

/** Guards a process that was started as the leader of its own group (`detached`). */
export function guardGroup(child: ChildProcess): void {
  const { pid } = child
  if (pid === undefined) return
  tellWatchdog(`watch ${pid}`)
  child.once('exit', () => tellWatchdog(`forget ${pid}`))
}

/** A new folder that is removed at the latest when this process ends. */
export async function makeGuardedFolder(
  name: string,
  parent = tmpdir(),
): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(parent, `kafka-backup-${name}-`))
  tellWatchdog(`folder ${path}`)
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) }
}

function spawnGated(command: string, args: readonly string[], options: GuardOptions): ChildProcess {
  const log = openSync(options.logFile, 'a')
  try {
    return spawn('sh', ['-c', gateScript, command, command, ...args], {
      detached: true,
      stdio: options.piped ? ['pipe', 'pipe', log, 'pipe'] : ['ignore', log, log, 'pipe'],
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      ...(options.env === undefined ? {} : { env: options.env }),
    })
  } finally {
    closeSync(log)
  }
}

function tellWatchdog(line: string): void {
  watchdog ??= startWatchdog()
  watchdog.write(`${line}\n`)
}

function startWatchdog(): Writable {
  const shell = spawn('sh', ['-c', watchdogScript], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  shell.unref()
  const { stdin } = shell
  ;(stdin as Writable & { unref(): void }).unref()
  return stdin
}
