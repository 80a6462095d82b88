import { enableCompileCache } from 'node:module'

enableCompileCache()
const [{ guardOutputs, processIo }, { main }] = await Promise.all([import('./io.ts'), import('./main.ts')])
guardOutputs()
process.exitCode = await main(process.argv.slice(2), processIo())
