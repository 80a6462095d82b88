import { fields } from './leaf.ts'
import { text } from './text-leaves.ts'
import { listenAddress } from './text-rules.ts'

export const metricsSchema = fields({
  listen: text(listenAddress, {
    description:
      'Where `/metrics`, `/progress`, `/healthz` and `/readyz` are served while the job runs. There is no login, so keep it to ' +
      'addresses that only your monitoring reaches.',
  }).prefault('127.0.0.1:9309'),
}).meta({ description: 'Serves Prometheus metrics while the job runs; without this section nothing listens.' })
