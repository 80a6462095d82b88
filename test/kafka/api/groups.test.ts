import { describeCluster } from '../../../src/kafka/api/describe-cluster.ts'
import { consumerGroupDescribe } from '../../../src/kafka/api/describe-new-groups.ts'
import { listGroupsApi } from '../../../src/kafka/api/list-groups.ts'
import { describeCodec, hex, id, unknownTag } from './describe-codec.ts'

const text = (value: string) =>
  hex((value.length + 1).toString(16).padStart(2, '0'), Buffer.from(value).toString('hex'))

describeCodec('ListGroups v5', {
  api: listGroupsApi,
  request: {},
  encoded: ['01', '01', '00'],
  answer: [
    '00000000',
    '0000',
    '03',
    hex(text('g'), text('consumer'), text('Stable'), text('Classic'), unknownTag),
    hex(text('h'), text(''), text('Empty'), text('Share'), '00'),
    unknownTag,
  ],
  decoded: {
    errorCode: 0,
    groups: [
      { group: 'g', protocolType: 'consumer', state: 'Stable', type: 'Classic' },
      { group: 'h', protocolType: '', state: 'Empty', type: 'Share' },
    ],
  },
})

describeCodec('ListGroups v4', {
  api: listGroupsApi,
  version: 4,
  request: {},
  encoded: ['01', '00'],
  answer: ['00000000', '000e', '02', hex(text('g'), text('consumer'), text('Empty'), unknownTag), unknownTag],
  decoded: { errorCode: 14, groups: [{ group: 'g', protocolType: 'consumer', state: 'Empty', type: undefined }] },
})

const assignment = hex('02', id, text('t'), '02', '00000003', unknownTag, unknownTag)

describeCodec('ConsumerGroupDescribe v0', {
  api: consumerGroupDescribe,
  request: { groups: ['g', 'h'] },
  encoded: [hex('03', text('g'), text('h')), '00', '00'],
  answer: [
    '00000000',
    '03',
    hex('0000', '00', text('g'), text('Stable'), '00000002', '00000002', text('uniform')),
    hex('02', text('m'), '00', text('r'), '00000001', text('c'), text('/h'), '02', text('t'), '00'),
    hex(assignment, assignment, unknownTag),
    hex('80000000', unknownTag),
    hex('0045', text('none'), text('h'), text(''), '00000000', '00000000', text(''), '01', '80000000', '00'),
    unknownTag,
  ],
  decoded: [
    { errorCode: 0, errorMessage: null, group: 'g', state: 'Stable', members: 1 },
    { errorCode: 69, errorMessage: 'none', group: 'h', state: '', members: 0 },
  ],
})

describeCodec('DescribeCluster v0', {
  api: describeCluster,
  request: {},
  encoded: ['01', '00'],
  answer: [
    '00000000',
    '0000',
    '00',
    hex('02', '63'),
    '00000001',
    hex('02', '00000001', '02', '68', '00002384', '00', unknownTag),
    '00000d00',
    unknownTag,
  ],
  decoded: { errorCode: 0, errorMessage: null, authorizedOperations: 0xd00 },
})
