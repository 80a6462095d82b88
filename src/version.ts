import { readFileSync } from 'node:fs'

/** Of the package, wherever it runs from: the sources and the compiled files both lie one folder below it. */
export const version: string = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
