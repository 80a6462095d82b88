import { enableCompileCache } from 'node:module'

enableCompileCache()
// Native modules make a report to learn which C library there is; without this it asks for the state of the network.
Object.assign(process.report ?? {}, { excludeNetwork: true })
const [{ guardOutputs, processIo }, { main }] = await Promise.all([import('./io.ts'), import('./main.ts')])
guardOutputs()
process.exitCode = await main(process.argv.slice(2), processIo())
