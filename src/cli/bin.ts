import { enableCompileCache } from 'node:module'

enableCompileCache()
// Native modules make a report to learn which C library there is; without this it asks for the state of the network.
Object.assign(process.report ?? {}, { excludeNetwork: true })
/** Node.js uses it where a module waits for ever. No command ends with it. */
const NOT_RETURNED = 13
process.exitCode = NOT_RETURNED
process.once('exit', code => {
  if (code !== NOT_RETURNED) return
  process.stderr.write(
    'error: the program ended before its work was done, because nothing was left that it could wait for\n' +
      'help: This is a bug in kafka-backup; please report it. What is committed is kept; run the same command to continue. (INTERNAL)\n',
  )
  process.exitCode = 1
})
void run()

async function run(): Promise<void> {
  const [{ endSoon, guardOutputs, processIo }, { main }] = await Promise.all([import('./io.ts'), import('./main.ts')])
  guardOutputs()
  process.exitCode = await main(process.argv.slice(2), processIo())
  await endSoon()
}
