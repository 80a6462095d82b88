import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { cached } from './cache.ts'
import { mustRun } from './run-command.ts'

/** Changes with what the programs do in `train`: archives with another number are not used. */
const TRAINING = 2

/**
 * JVM flags that make a program start from an archive of its loaded classes, which more than halves the time. `train`
 * runs the program once with the flags it is given and lets it exit in order; that writes the archive. A JVM that cannot
 * use an archive starts without it.
 */
export async function classArchiveFlags(name: string, train: (flags: string[]) => Promise<void>): Promise<string[]> {
  const java = createHash('sha256')
    .update(await mustRun('java', ['--version']))
    .digest('hex')
    .slice(0, 8)
  const folder = await cached(`${name}-classes-${TRAINING}-java-${java}`, dir =>
    train([`-XX:ArchiveClassesAtExit=${join(dir, 'archive.jsa')}`, ...quiet]),
  )
  return [`-XX:SharedArchiveFile=${join(folder, 'archive.jsa')}`, ...quiet]
}

/** Remarks about classes that cannot be archived go to standard output otherwise. */
const quiet = ['-Xlog:disable']
