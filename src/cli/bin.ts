import { enableCompileCache } from 'node:module'

enableCompileCache()
// Native modules make a report to learn which C library there is; without this it asks for the state of the network.
Object.assign(process.report ?? {}, { excludeNetwork: true })
/** A program that ends before `main` has returned did not succeed. Node.js uses this code where a module waits for ever. */
process.exitCode = 13
void run()

async function run(): Promise<void> {
  const [{ guardOutputs, processIo }, { main }] = await Promise.all([import('./io.ts'), import('./main.ts')])
  guardOutputs()
  process.exitCode = await main(process.argv.slice(2), processIo())
}
