import { resolve } from 'node:path'
import { styleText } from 'node:util'
import { runCommand, startServing } from './run-command.ts'

const launcher = resolve(import.meta.dirname, '../kafka-backup')

/** Prints the demo to standard output, with colors only on a terminal without NO_COLOR. */
export class Stage {
  readonly #folder: string
  #acts = 0
  #serving: { end(): Promise<void> } | undefined

  /** The folder is where commands run. */
  constructor(folder: string) {
    this.#folder = folder
  }

  act(title: string): void {
    this.#acts++
    this.write(`\n${styleText(['bold', 'cyan'], `${this.#acts}. ${title}`)}`)
  }

  say(text: string): void {
    this.write(styleText('italic', text))
  }

  write(text: string): void {
    process.stdout.write(`${text}\n`)
  }

  showFile(name: string, text: string): void {
    this.write(`\n${styleText('dim', `$ cat ${name}`)}\n${text.trimEnd()}`)
  }

  /** Prints and runs a command of the tool. Throws when it exits with another code than expected. */
  async run(args: string, expectedExit = 0): Promise<void> {
    this.write(`\n${styleText('dim', `$ kafka-backup ${args}`)}`)
    const exitCode = await runCommand(launcher, args.split(' '), this.#folder)
    if (expectedExit !== 0) this.say(`exit code ${exitCode}`)
    if (exitCode !== expectedExit)
      throw new Error(`kafka-backup ${args} exited with ${exitCode}, expected ${expectedExit}`)
  }

  /** Starts a command that runs until the end of the demo, and waits for its first line. */
  async serve(args: string): Promise<void> {
    this.write(`\n${styleText('dim', `$ kafka-backup ${args} &`)}`)
    this.#serving = await startServing(launcher, args.split(' '), this.#folder, line => this.write(line))
  }

  async close(): Promise<void> {
    await this.#serving?.end()
  }

  sumUp(facts: readonly string[]): void {
    this.write(`\n${styleText('bold', 'What you have seen')}`)
    for (const fact of facts) this.write(`  ${styleText('green', '✓')} ${fact}`)
  }
}
