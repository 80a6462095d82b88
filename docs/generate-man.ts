import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { version } from '../src/version.ts'
import { manPages } from './man-pages.ts'

/** Part of `npm pack`: writes the manual pages that the package installs. */
const folder = join(import.meta.dirname, '../dist/man')
await mkdir(folder, { recursive: true })
for (const [name, page] of manPages(version)) await writeFile(join(folder, name), page)
