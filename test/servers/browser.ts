import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, before } from 'node:test'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { chromiumBinary } from './chromium-binary.ts'

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export interface OpenedPage {
  page: Page
  /** What the browser complained about: errors of scripts, and what the policy of the page forbade. */
  complaints: string[]
}

/** A browser for the tests of a file. Every page has its own context. */
export function useBrowser(): (options?: BrowserContextOptions) => Promise<OpenedPage> {
  let browser: Browser | undefined
  before(async () => {
    // Root, and containers, have no sandbox of the kernel for it.
    const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu']
    browser = await chromium.launch({ executablePath: await chromiumBinary(), args })
  })
  after(() => browser?.close())
  return async (options = {}) => {
    if (!browser) throw new Error('the browser is not open yet')
    const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options })
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', message => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
    })
    page.on('pageerror', error => complaints.push(error.message))
    page.on('dialog', dialog => {
      complaints.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    return { page, complaints }
  }
}

/** What axe finds wrong with the page, each with its rule and the element. With `rules`, by these only. */
export async function findBarriers(page: Page, rules?: readonly string[]): Promise<string[]> {
  await page.evaluate(axeSource)
  return page.evaluate(async only => {
    interface Violation {
      id: string
      nodes: { html: string; failureSummary: string }[]
    }
    type Run = (options: object) => Promise<{ violations: Violation[] }>
    const { axe } = globalThis as unknown as { axe: { run: Run } }
    const { violations } = await axe.run(only ? { runOnly: only } : {})
    return violations.flatMap(({ id, nodes }) => nodes.map(node => `${id}: ${node.html} ${node.failureSummary}`))
  }, rules)
}
