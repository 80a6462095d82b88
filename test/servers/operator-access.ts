import { buildDefinitions } from '../../src/operator/crd/definitions.ts'
import { type ChartValues, installChart } from './chart.ts'
import type { Kube } from './kube.ts'
import type { KubeObject } from './kube-object.ts'

export interface OperatorAccess {
  account: { serviceAccount: string; namespace: string }
  /** Of the operator's container, as the chart has them. */
  args: string[]
}

/** For the start of a control plane: its garbage collector learns of new kinds too late for a test. */
export function operatorDefinitions(): KubeObject[] {
  return buildDefinitions() as unknown as KubeObject[]
}

/** The operator's account with the rights that the chart gives it, and no others. */
export async function installOperatorAccess(
  kube: Kube,
  namespace: string,
  values: ChartValues = {},
): Promise<OperatorAccess> {
  const { serviceAccount, args } = await installChart(kube, namespace, { crds: { install: false }, ...values })
  return { account: { serviceAccount, namespace }, args }
}
