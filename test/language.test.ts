import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'

const root = resolve(import.meta.dirname, '..')

/** Phrases that read like a translation, each with what to write instead. Identifiers are split into words before the search. */
const banned: readonly [phrase: RegExp, instead: string][] = [
  [/\bgo(?:es|ne|ing)? on\b|\bwent on\b/, 'continue, resume'],
  [/\bstands?\b(?! for\b|-| ins?\b)|\bstood\b|\bin the way\b(?! that\b)/, 'blocker, conflict; survive, tolerate'],
  [/\banew\b/, 'again, re-read, rebuild'],
  [/\bbeside\b/, 'next to, together with'],
  [/\bwho(?:m)?ever\b/, 'anyone who, the process that'],
  [/\bnobody\b|\bsomebody\b/, 'name the actor'],
  [/\b(?:is|are|was|were|be|been|being|as) told\b/, 'report, log, print, show'],
  [/\blet(?:s|ting)? go\b/, 'expire, release'],
  [/\bt(?:ake|akes|aken|ook|aking) (?:it |them |this )?back\b/, 'undo, restore the previous value'],
  [/\bg(?:ive|ives|iven|ave|iving) up\b/, 'expire, stop, abandon'],
  [/\bwhat there is\b|\b(?:newest|latest|oldest|all) (?:that )?there (?:is|are)\b/, 'name the thing; current, latest'],
  [
    /\bof (?:its|their|his|our|your|one's) own(?=$|[^\w ]| (?:to|in|on|at|for|from|that|which|and|or|is|are|has|where|with|when|so)\b)/,
    'separate, its own …',
  ],
  [/\bthe same of\b/, 'the same for, like …'],
  [/\b(?:hold|holds|holding|held) (?:it |them )?against\b/, 'compare, match'],
  [/(?<!\bthere )\b(?:is|are) no (?!longer\b|more than\b|less than\b|older than\b|later than\b)[a-z]+/, 'is not a …'],
  [/\bstrangers?\b/, 'unknown field'],
  [/\bhappenings?\b(?! at\b)/, 'Kubernetes Event'],
  [/\brest values?\b/, 'default'],
  [/\bwish(?:es|ed)?\b/, 'request, desired state'],
]

/** JSON keys, fields and quoted texts of others, which keep their names. */
const allowed = [/taken_back/g, /given_up/g]

/** Folders and pages that are not clean yet. */
const unfinished: readonly string[] = []

const files = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md'],
  ...filesBelow('docs').filter(path => /\.(?:md|ts)$/.test(path)),
  ...filesBelow('src'),
].filter(path => !unfinished.some(start => path.startsWith(start)))

test('source, docs and README contain none of the phrases that read like a translation', () => {
  const found = files.flatMap(path => findingsIn(path, readFileSync(join(root, path), 'utf8')))
  assert.deepEqual(found, [])
})

test('finds a banned phrase in prose, in strings and in identifiers', () => {
  const found = ['// so that nobody waits', "'the run goes on'", 'const wishedJob = 1', 'it is no number'].flatMap(
    line => findingsIn('a.ts', line),
  )
  assert.equal(found.length, 4)
  assert.deepEqual(findingsIn('a.ts', 'there is no backup; it is no longer there; taken_back, given_up'), [])
})

function findingsIn(path: string, text: string): string[] {
  return text.split('\n').flatMap((line, at) => {
    const words = allowed
      .reduce((rest, one) => rest.replace(one, ''), line)
      .replace(/([a-z])([A-Z])/g, '$1 $2')
      .toLowerCase()
    return banned.flatMap(([phrase, instead]) => {
      const match = phrase.exec(words)
      return match ? [`${path}:${at + 1}: "${match[0]}": write ${instead}`] : []
    })
  })
}

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(root.length + 1))
}
