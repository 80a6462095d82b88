import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html, MAX_TEXT_CHARS } from '../../src/console/html.ts'

test('escapes every text, in content and in attributes', () => {
  const text = `<script>alert("x")</script> & 'y'`
  const escaped = '&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; &#39;y&#39;'
  assert.equal(String(html`<p title="${text}">${text}</p>`), `<p title="${escaped}">${escaped}</p>`)
})

test('cuts a text that is longer than any page shows', () => {
  assert.equal(String(html`<p>${'<'.repeat(10 << 20)}</p>`), `<p>${'&lt;'.repeat(MAX_TEXT_CHARS)}…</p>`)
})

test('keeps markup, and escapes text inside lists and nested templates', () => {
  const items = ['<a>', '<b>'].map(text => html`<li>${text}</li>`)
  assert.equal(String(html`<ul>${items}${['<c>']}</ul>`), '<ul><li>&lt;a&gt;</li><li>&lt;b&gt;</li>&lt;c&gt;</ul>')
})

test('shows nothing for what is absent, and numbers of any size', () => {
  assert.equal(String(html`${undefined}${null}${false}${0}${9_223_372_036_854_775_807n}`), '09223372036854775807')
})

test('an object that only looks like markup is text', () => {
  const forged = { toString: () => '<script>' } as unknown as string
  assert.equal(String(html`${forged}`), '&lt;script&gt;')
})

test('shows characters that reverse a line, control a terminal or are invisible as their codes', () => {
  assert.equal(String(html`${'a\u202eb\u0000c\u001bd\u200be\ud800'}`), 'a\\u202eb\\u0000c\\u001bd\\u200be\ufffd')
  assert.equal(String(html`${'a\n\tb'}`), 'a\n\tb')
})
