import { offsetDelete } from '../../../src/kafka/api/group-offsets.ts'
import { describeCodec, hex } from './describe-codec.ts'

describeCodec('OffsetDelete v0', {
  api: offsetDelete,
  request: { group: 'g', topics: [{ name: 'ab', partitions: [0, 7] }] },
  encoded: [hex('0001', '67'), '00000001', hex('0002', '6162'), '00000002', '00000000', '00000007'],
  answer: [
    '0000',
    '00000000',
    '00000001',
    hex('0002', '6162'),
    '00000002',
    hex('00000000', '0000'),
    hex('00000007', '0056'),
  ],
  decoded: {
    errorCode: 0,
    topics: [
      {
        name: 'ab',
        partitions: [
          { partition: 0, errorCode: 0 },
          { partition: 7, errorCode: 86 },
        ],
      },
    ],
  },
})
