import { readFile } from 'node:fs/promises'
import type { Answer } from './answer.ts'

const files: Readonly<Record<string, string>> = {
  'console.css': 'text/css; charset=utf-8',
  'console.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml',
}

/** Reads the files that pages refer to: those of this list, and no other. */
export async function readAssets(): Promise<ReadonlyMap<string, Answer>> {
  const entries = Object.entries(files).map(async ([name, contentType]): Promise<[string, Answer]> => {
    const body = await readFile(new URL(`./assets/${name}`, import.meta.url))
    return [`/assets/${name}`, { status: 200, contentType, body }]
  })
  return new Map(await Promise.all(entries))
}
