import { formatUtc } from '../../lib/clock.ts'
import { version } from '../../version.ts'
import type { OpenedBackup } from '../archive-reader.ts'
import { type Html, html, nothing } from '../html.ts'
import { backupLink, groupsLink, homeLink, newestLink, restoreLink, schemasLink } from '../links.ts'
import { plural, showTime } from './words.ts'

interface PageContent {
  title: string
  body: Html
  /** Pages between that of the backup and this one; absent for that of the backup itself. */
  trail?: readonly Step[]
  /** The backup that it is about. */
  backup?: OpenedBackup
  /** The same page with what takes longer, which the script gets when this one is shown. */
  more?: string
  /** The list of backups, which the script shows again from time to time. */
  isList?: true
  /** Which of the pages of a backup it belongs to. */
  tab?: Tab
}

type Step = readonly [name: string, link: string]

const tabs = ['Overview', 'Schemas', 'Groups', 'Restore'] as const
type Tab = (typeof tabs)[number]

/** Pure. A complete document around the content of a page. */
export function showPage({ title, body, trail, backup, tab, more, isList }: PageContent): Html {
  const steps = trailTo(backup, trail)
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} &ndash; kafka-backup console</title>
<link rel="stylesheet" href="/assets/console.css"><link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<script src="/assets/console.js" defer></script></head>
<body><a class="skip" href="#main">Skip to content</a>
<header><a class="brand" href="${homeLink}">kafka-backup <span>console</span></a>
<nav aria-label="Path"><ol>${steps.map(([name, link]) => html`<li><a href="${link}">${name}</a></li>`)}<li><span aria-current="page">${title}</span></li></ol></nav></header>
${backup ? showTabs(backup, tab) : nothing}
<main id="main" tabindex="-1"${backup ? liveMarks(backup) : nothing}${more !== undefined && html` data-more="${more}"`}${isList && html` data-list`}>${backup ? showState(backup) : nothing}
${body}</main>
<div id="news" role="status" aria-live="polite"></div>
<footer>kafka-backup ${version} &middot; read-only &middot; times are UTC</footer></body></html>`
}

function trailTo(backup: OpenedBackup | undefined, trail: readonly Step[] | undefined): Step[] {
  const home: Step = ['Backups', homeLink]
  if (!backup) return trail ? [home] : []
  return trail ? [home, [backup.manifest.backup_id, backupLink(backup.place)], ...trail] : [home]
}

function showTabs({ place }: OpenedBackup, current: Tab | undefined): Html {
  const links: Record<Tab, string> = {
    Overview: backupLink(place),
    Schemas: schemasLink(place),
    Groups: groupsLink(place),
    Restore: restoreLink(place),
  }
  return html`<nav class="tabs" aria-label="Backup">${tabs.map(
    tab => html`<a href="${links[tab]}"${tab === current ? html` aria-current="page"` : nothing}>${tab}</a>`,
  )}</nav>`
}

/** What the script needs to notice a newer generation; a page of a chosen generation stays as it is. */
function liveMarks({ place, newest }: OpenedBackup): Html {
  if (place.generation !== undefined) return nothing
  return html` data-newest="${newestLink(place)}" data-generation="${newest}"`
}

function showState({ place, manifest, newest, gone }: OpenedBackup): Html {
  const { generation, created_at } = manifest
  const latest = backupLink({ at: place.at, backupId: place.backupId })
  if (gone !== undefined) {
    return html`<p class="notice warn" role="status">Generation ${gone} is gone: a prune or a merge of the backup has removed it. This is the newest one, generation ${generation} of ${showTime(created_at)}.</p>`
  }
  if (generation === newest) return nothing
  const behind = plural(newest - generation, 'newer number')
  return html`<p class="notice" role="status">This is generation ${generation} of ${showTime(created_at)}, not the newest (${behind}). <a href="${latest}">Open the newest</a></p>`
}

/** Pure. Why a request has no other answer. */
export function showProblem({
  title,
  message,
  help,
  atMs,
}: {
  title: string
  message: string
  help?: string | undefined
  atMs: number
}): Html {
  return showPage({
    title,
    trail: [],
    body: html`<h1>${title}</h1><p class="notice bad">${message}</p>${help === undefined ? nothing : html`<p>${help}</p>`}
<p><a href="${homeLink}">All backups</a> &middot; <time datetime="${formatUtc(atMs)}">${formatUtc(atMs)}</time></p>`,
  })
}
