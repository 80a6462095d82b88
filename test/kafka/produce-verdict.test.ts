import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeProduceError, type ProduceVerdict } from '../../src/kafka/produce-lane.ts'

const table: [verdict: ProduceVerdict, why: string, codes: number[]][] = [
  ['ok', 'it is stored', [0]],
  ['duplicate', 'it was stored before', [46]],
  [
    'retry',
    'the cluster is electing, restarting or short of replicas',
    [-1, 3, 5, 6, 7, 8, 13, 14, 19, 20, 56, 74, 75],
  ],
  ['retry', 'it broke on the way', [2]],
  ['sequence', 'another sequence or another epoch is expected', [45, 47, 59, 90]],
  ['too_large', 'the topic takes smaller ones only', [10, 18]],
  ['refused', 'we may not write there', [29, 31]],
  ['refused', 'the topic does not take such records', [17, 32, 42, 44, 76, 87]],
  ['refused', 'nobody knows the code', [12345, -7]],
]

for (const [verdict, why, codes] of table) {
  test(`a batch is judged ${verdict} when ${why}`, () => {
    for (const code of codes) assert.equal(judgeProduceError(code), verdict, `code ${code}`)
  })
}
