import { type Io, processIo } from '../../src/cli/io.ts'
import { main } from '../../src/cli/main.ts'
import type { Ran } from './run-cli.ts'

/**
 * What the program does with these arguments, in the process of the test: the same as `runCli` in a fraction of the CPU
 * time. For tests of what it does, not of how its process starts and ends.
 */
export async function callCli(args: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<Ran> {
  const output: Uint8Array[] = []
  let stderr = ''
  const io: Io = {
    ...processIo(),
    env,
    stdout: { write: text => output.push(Buffer.from(text)) },
    stderr: {
      write: text => {
        stderr += text
      },
    },
    writeBytes: async bytes => output.push(Buffer.from(bytes)) > 0,
    // Signals are for the process of the test.
    onSignal: () => () => undefined,
    exit: code => {
      throw new Error(`the program exits with ${code} without a signal`)
    },
    clearScreen: undefined,
    ask: undefined,
  }
  const code = await main(args, io)
  return { code, stdout: Buffer.concat(output).toString('utf8'), stderr }
}
