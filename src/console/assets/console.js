/** Everything works without this script. It keeps a page current while a backup runs, and copies texts. */

const POLL_MS = 5000
/** The list of backups takes a request to the storage for each of them. */
const LIST_POLLS = 6
let polls = 0
const news = document.getElementById('news')

function announce(text) {
  if (news) news.textContent = text
}

/** Shows the page again when the backup has a newer generation. */
async function refresh() {
  const main = document.getElementById('main')
  const { newest, generation } = main?.dataset ?? {}
  if (newest === undefined || document.hidden || isTyping()) return
  const found = await (await fetch(newest, { cache: 'no-store' })).json()
  if (found.generation === undefined || String(found.generation) === generation) return
  if (await replaceMain(location.href)) announce(`Generation ${found.generation} was committed; this page shows it.`)
  await showMore()
}

/** Shows the list of backups again: it is of many generations, so it cannot ask for a newer one. */
async function refreshList() {
  const main = document.getElementById('main')
  polls++
  if (main?.dataset.list === undefined || polls % LIST_POLLS !== 0 || document.hidden || isTyping()) return
  await replaceMain(location.href)
}

/** A page of a large backup comes without what takes longer. */
async function showMore() {
  const { more } = document.getElementById('main')?.dataset ?? {}
  if (more !== undefined) await replaceMain(more)
}

/** Shows another state of this page; what is focused, open or scrolled to stays so. */
async function replaceMain(address) {
  const main = document.getElementById('main')
  const response = await fetch(address, { cache: 'no-store' })
  if (!response.ok || main === null) return false
  const next = new DOMParser().parseFromString(await response.text(), 'text/html').getElementById('main')
  if (next === null) return false
  const focused = focusPath(main)
  const open = [...main.querySelectorAll('details[open][id]')].map(one => one.id)
  const scrolled = [...main.querySelectorAll('.scroll[id]')].map(one => [one.id, one.scrollLeft])
  const top = window.scrollY
  main.replaceChildren(...next.childNodes)
  for (const name of ['generation', 'more']) {
    if (next.dataset[name] === undefined) delete main.dataset[name]
    else main.dataset[name] = next.dataset[name]
  }
  for (const id of open) document.getElementById(id)?.setAttribute('open', '')
  for (const [id, left] of scrolled) document.getElementById(id)?.scrollTo({ left })
  window.scrollTo({ top })
  followPath(main, focused)?.focus({ preventScroll: true })
  showCopyButtons()
  return true
}

/** A form that is being filled in, or text that is selected, is left alone. */
function isTyping() {
  const isFilled = [...document.querySelectorAll('input, textarea')].some(one => one.value !== one.defaultValue)
  const isSelected = getSelection()?.isCollapsed === false
  return isFilled || isSelected || document.activeElement?.matches('form *, input, textarea, select')
}

/** The focused element by its link, as others may come before it. */
function focusPath(main) {
  const active = document.activeElement
  if (active === null || !main.contains(active)) return undefined
  return active.getAttribute('href') ?? (active.id === '' ? undefined : `#${active.id}`)
}

function followPath(main, path) {
  if (path === undefined) return undefined
  const link = [...main.querySelectorAll('a[href]')].find(one => one.getAttribute('href') === path)
  return link ?? (path.startsWith('#') ? document.getElementById(path.slice(1)) : undefined)
}

async function poll() {
  try {
    await refresh()
    await refreshList()
  } catch {
    // The console was stopped, or the network is gone: the page stays as it is.
  }
  setTimeout(poll, POLL_MS)
}

/** Buttons with `data-copy` copy the text of the element that they name. */
document.addEventListener('click', async event => {
  const button = event.target instanceof Element ? event.target.closest('button[data-copy]') : null
  if (button === null) return
  const text = document.getElementById(button.dataset.copy)?.textContent ?? ''
  try {
    await navigator.clipboard.writeText(text)
    announce('Copied.')
  } catch {
    announce('The browser does not allow copying here: select the text instead.')
  }
})

function showCopyButtons() {
  for (const button of document.querySelectorAll('button[data-copy]')) button.hidden = false
}

showCopyButtons()
showMore().catch(() => undefined)
setTimeout(poll, POLL_MS)
