import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { test } from 'node:test'

const root = resolve(import.meta.dirname, '..')

/** All pages of the repository, also those of its hidden folders. */
const pages = ['.', '.github', 'deploy', 'docs', 'examples', 'test', 'bench', 'demo']
  .filter(folder => existsSync(join(root, folder)))
  .flatMap(folder =>
    readdirSync(join(root, folder), { recursive: folder !== '.', encoding: 'utf8' })
      .filter(name => name.endsWith('.md') && !name.includes('node_modules'))
      .map(name => join(folder, name)),
  )

test('every link of a page leads to a file or a folder, and every fragment to a heading', () => {
  const dead = pages.flatMap(page =>
    linksOf(page)
      .filter(link => !leadsSomewhere(page, link))
      .map(link => `${page} -> ${link}`),
  )
  assert.deepEqual(dead, [])
  assert.ok(pages.length > 40, `${pages.length} pages`)
})

test('every address of the web in a page is https and has no user in it', () => {
  const wrong = pages.flatMap(page =>
    linksOf(page)
      .filter(link => /^[a-z]+:\/\//.test(link))
      .filter(link => !URL.canParse(link) || new URL(link).protocol !== 'https:' || new URL(link).username !== '')
      .map(link => `${page} -> ${link}`),
  )
  assert.deepEqual(wrong, [])
})

test('a heading has the name that GitHub gives it', () => {
  assert.deepEqual(slugsOf('# A `b` c: d-e\n\n## Twice\n\n```\n# none\n```\n\n## Twice\n'), [
    'a-b-c-d-e',
    'twice',
    'twice-1',
  ])
})

function linksOf(page: string): string[] {
  const text = withoutCode(readFileSync(join(root, page), 'utf8'))
  return [...text.matchAll(/\]\(([^()\s]+(?:\([^()]*\))?[^()\s]*)\)/g)].map(([, link = '']) => link)
}

function leadsSomewhere(page: string, link: string): boolean {
  if (/^(https?|mailto):/.test(link)) return true
  const [path = '', fragment] = link.split('#')
  const target = path === '' ? join(root, page) : resolve(root, dirname(page), path)
  if (!existsSync(target) || relative(root, target).startsWith('..')) return false
  if (fragment === undefined) return true
  return !statSync(target).isDirectory() && slugsOf(readFileSync(target, 'utf8')).includes(fragment)
}

/** The names of headings in links, as GitHub makes them. */
function slugsOf(text: string): string[] {
  const seen = new Map<string, number>()
  return [...withoutCode(text).matchAll(/^#{1,6} +(.+?) *$/gm)].map(([, title = '']) => {
    const slug = title
      .toLowerCase()
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '')
      .replaceAll(' ', '-')
    const count = seen.get(slug) ?? 0
    seen.set(slug, count + 1)
    return count === 0 ? slug : `${slug}-${count}`
  })
}

function withoutCode(text: string): string {
  return text.replaceAll(/^ *```[\s\S]*?^ *```/gm, '')
}
