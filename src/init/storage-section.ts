import { parseLocation } from '../storage/location.ts'
import { doubleReferences } from './connection.ts'

/** The section `storage` of a job file for a location as the command line takes it. */
export function storageSection(location: string): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(parseLocation(location)).map(([name, value]) => [
      name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`),
      typeof value === 'string' ? doubleReferences(value) : value,
    ]),
  )
}
