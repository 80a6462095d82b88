import assert from 'node:assert/strict'
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { dashboardFile } from '../operator/metrics/read-monitoring.ts'
import { grafanaSchemaModules } from '../servers/grafana-schema.ts'
import { makeGuardedFolder } from '../servers/guard.ts'
import { runCommand } from '../servers/run-command.ts'

const compiler = resolve(import.meta.dirname, '../../node_modules/.bin/tsc')

/** Types of Grafana as JSON has them: values of enums are texts there. */
const prelude = `
import type * as grafana from '@grafana/schema'
import type { Options as Gauge } from '@grafana/schema/dist/esm/raw/composable/gauge/panelcfg/x/GaugePanelCfg_types.gen'
import type { Options as Stat } from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen'
import type { FieldConfig as Lines, Options as TimeSeries } from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen'
import type { Options as Table } from '@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen'

type Json<T> = T extends string ? \`\${T}\`
  : T extends number | boolean | null | undefined ? T
  : T extends readonly (infer E)[] ? Json<E>[]
  : T extends object ? { [K in keyof T]: Json<T[K]> }
  : T
type Options = { gauge: Gauge; stat: Stat; timeseries: TimeSeries; table: Table }
type Custom = { timeseries: Lines; gauge: never; stat: never; table: never }
type Field<Type extends keyof Options> = Omit<grafana.FieldConfig, 'custom'> & { custom?: Partial<Custom[Type]> }
type PanelOf<Type extends keyof Options> = Json<
  Omit<grafana.Panel, 'type' | 'options' | 'fieldConfig'> & {
    type: Type
    options: Partial<Options[Type]>
    fieldConfig: { defaults: Field<Type>; overrides: [] }
  }
>
type Head = Json<Omit<grafana.Dashboard, 'panels'>>
type Row = Json<grafana.RowPanel>
`

interface DashboardJson {
  panels: { type: string; title: string; fieldConfig?: { defaults: Record<string, unknown> } }[]
  [field: string]: unknown
}

describe('the dashboard, against the types that Grafana publishes of its schema,', () => {
  let folder: Awaited<ReturnType<typeof makeGuardedFolder>>
  let dashboard: DashboardJson

  before(async () => {
    folder = await makeGuardedFolder('grafana')
    await symlink(await grafanaSchemaModules(), join(folder.path, 'node_modules'))
    await writeFile(join(folder.path, 'package.json'), '{"type": "module"}')
    const compilerOptions = { strict: true, noEmit: true, module: 'esnext', moduleResolution: 'bundler', types: [] }
    await writeFile(
      join(folder.path, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: { ...compilerOptions, skipLibCheck: true }, include: ['*.ts'] }),
    )
    dashboard = JSON.parse(await readFile(dashboardFile, 'utf8'))
  })

  after(() => folder.remove())

  const complaints = async (checked: DashboardJson) => {
    await writeFile(join(folder.path, 'dashboard.ts'), formatCheck(checked))
    const { stdout, stderr } = await runCommand(compiler, ['-p', folder.path], { cwd: folder.path })
    return `${stdout}${stderr}`.trim()
  }

  test('is valid: every field is known and has the right type, in all panels', async () => {
    assert.equal(await complaints(dashboard), '')
  })

  for (const [what, break_, complaint] of [
    ['a field that Grafana does not know', (d: DashboardJson) => ({ ...d, panel: [] }), /"panel"/],
    ['a kind of threshold that there is not', withField('thresholds', { mode: 'relative', steps: [] }), /"relative"/],
    [
      'a step of colours without a colour',
      withField('thresholds', { mode: 'absolute', steps: [{ value: 1 }] }),
      /color/,
    ],
    ['a style of lines that there is not', withField('custom', { drawStyle: 'wave' }), /"wave"/],
  ] as const) {
    test(`would not be valid with ${what}`, async () => {
      assert.match(await complaints(break_(dashboard)), complaint)
    })
  }
})

/** A constant for the dashboard and one for each panel: only literals are searched for fields that do not belong there. */
function formatCheck({ panels, ...head }: DashboardJson): string {
  const checks = panels.map(
    (panel, at) =>
      `export const panel${at}: ${panel.type === 'row' ? 'Row' : `PanelOf<'${panel.type}'>`} = ${JSON.stringify(panel)}`,
  )
  return [prelude, `export const head: Head = ${JSON.stringify(head)}`, ...checks].join('\n')
}

/** Another value in the first panel with lines. */
function withField(field: string, value: unknown): (dashboard: DashboardJson) => DashboardJson {
  return dashboard => {
    const changed = structuredClone(dashboard)
    const panel = changed.panels.find(({ type }) => type === 'timeseries')
    if (panel?.fieldConfig) panel.fieldConfig.defaults[field] = value
    return changed
  }
}
