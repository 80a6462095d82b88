import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import type { KubeObject } from '../../servers/kube-object.ts'

const folder = join(import.meta.dirname, '../../../examples/kubernetes')

/** The objects of each file of examples/kubernetes, by its name. */
export function readExamples(): Record<string, KubeObject[]> {
  const files = readdirSync(folder).filter(name => name.endsWith('.yaml'))
  return Object.fromEntries(
    files.map(name => [
      name,
      parseAllDocuments(readFileSync(join(folder, name), 'utf8')).map(each => each.toJS() as KubeObject),
    ]),
  )
}
