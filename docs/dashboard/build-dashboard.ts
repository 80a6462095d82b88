import { bottomRows } from './operator-panels.ts'
import { type PanelRow, type PanelSpec, type Query, topRows } from './panels.ts'

export const panelRows: PanelRow[] = [...topRows, ...bottomRows]

export const dashboardUid = 'kafka-backup-operator'

export interface Placed {
  panel: PanelSpec
  gridPos: { h: number; w: number; x: number; y: number }
}

const PANEL_HEIGHT = 8
const COLUMNS = 24
const datasource = { type: 'prometheus', uid: '$datasource' }

/** The dashboard as Grafana imports it. */
export function buildDashboard() {
  let id = 0
  const panels = placeRows().flatMap(({ title, y, placed }) => [
    { id: ++id, type: 'row', title, collapsed: false, gridPos: { h: 1, w: COLUMNS, x: 0, y }, panels: [] },
    ...placed.map(({ panel, gridPos }) => ({ id: ++id, ...buildPanel(panel), gridPos })),
  ])
  return {
    uid: dashboardUid,
    title: 'Kafka backup operator',
    description: 'Backups, restores and offset operations that the operator runs, and the operator itself.',
    tags: ['kafka', 'backup'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-24h', to: 'now' },
    timezone: 'browser',
    annotations: { list: [] },
    links: [],
    templating: { list: variables },
    panels,
  }
}

/** Where each panel is: in lines from left to right, a row of panels begins a new line. */
export function placeRows(): { title: string; y: number; placed: Placed[] }[] {
  let y = 0
  return panelRows.map(({ title, panels }) => {
    const top = y
    let x = 0
    y += 1
    const placed = panels.map(panel => {
      if (x + panel.width > COLUMNS) {
        x = 0
        y += PANEL_HEIGHT
      }
      const gridPos = { h: PANEL_HEIGHT, w: panel.width, x, y }
      x += panel.width
      return { panel, gridPos }
    })
    y += PANEL_HEIGHT
    return { title, y: top, placed }
  })
}

const variables = [
  { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
  variable('namespace', 'Namespace', 'label_values(kafka_backup_resource_phase, namespace)'),
  variable('backup', 'Backup', 'label_values(kafka_backup_backups_total{namespace=~"$namespace"}, backup_name)'),
]

function variable(name: string, label: string, query: string) {
  return {
    name,
    label,
    type: 'query',
    datasource,
    query: { query, refId: name },
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { text: ['All'], value: ['$__all'] },
  }
}

function buildPanel(panel: PanelSpec) {
  const isInstant = panel.type !== 'timeseries'
  return {
    type: panel.type,
    title: panel.title,
    description: panel.description,
    datasource,
    fieldConfig: { defaults: buildField(panel), overrides: [] },
    options: buildOptions(panel),
    targets: panel.queries.map((query, at) => buildTarget(query, at, isInstant, panel.type === 'table')),
    ...(panel.type === 'table' && {
      transformations: [
        { id: 'organize', options: { excludeByName: { Time: true, Value: true }, indexByName: {}, renameByName: {} } },
      ],
    }),
  }
}

function buildField({ type, unit, min, max, noValue, steps, words, stacked }: PanelSpec) {
  const stepColours = steps?.map(({ from, colour }) => ({ color: colour, value: from }))
  const [zero, one] = words ?? []
  return {
    unit,
    ...(min !== undefined && { min }),
    ...(max !== undefined && { max }),
    ...(noValue !== undefined && { noValue }),
    color: { mode: steps ? 'thresholds' : 'palette-classic' },
    thresholds: { mode: 'absolute', steps: stepColours ?? [{ color: 'green', value: 0 }] },
    mappings: words ? [{ type: 'value', options: { 0: { text: zero, index: 0 }, 1: { text: one, index: 1 } } }] : [],
    ...(type === 'timeseries' && {
      custom: {
        drawStyle: 'line',
        lineWidth: 1,
        fillOpacity: stacked ? 30 : 10,
        showPoints: 'auto',
        spanNulls: false,
        stacking: { mode: stacked ? 'normal' : 'none', group: 'A' },
      },
    }),
  }
}

function buildOptions({ type }: PanelSpec) {
  const reduceOptions = { calcs: ['lastNotNull'], fields: '', values: false }
  switch (type) {
    case 'gauge':
      return { reduceOptions, orientation: 'auto', showThresholdLabels: false, showThresholdMarkers: true }
    case 'stat':
      return {
        reduceOptions,
        orientation: 'auto',
        colorMode: 'background',
        graphMode: 'none',
        justifyMode: 'auto',
        textMode: 'auto',
      }
    case 'timeseries':
      return {
        legend: { showLegend: true, displayMode: 'list', placement: 'bottom', calcs: [] },
        tooltip: { mode: 'multi', sort: 'desc' },
      }
    case 'table':
      return { showHeader: true, cellHeight: 'sm' }
  }
}

function buildTarget({ expr, legend }: Query, at: number, isInstant: boolean, isTable: boolean) {
  return {
    refId: String.fromCharCode('A'.charCodeAt(0) + at),
    datasource,
    expr,
    legendFormat: legend === '' ? '__auto' : legend,
    editorMode: 'code',
    ...(isInstant ? { instant: true, range: false } : { instant: false, range: true }),
    format: isTable ? 'table' : 'time_series',
  }
}
