import { createAclsApi, describeAcls } from '../../../src/kafka/api/acls.ts'
import { alterClientQuotas, describeClientQuotas } from '../../../src/kafka/api/client-quotas.ts'
import { describeUserScramCredentials } from '../../../src/kafka/api/describe-user-scram-credentials.ts'
import { describeCodec, hex, unknownTag } from './describe-codec.ts'

/** Bytes that Kafka 4.1.1 has taken and sent, but for tags that nobody knows, which stand where a broker has none. */
const alice = hex('0b', '557365723a616c696365')
const anyHost = '022a'
const rule = { principal: 'User:alice', host: '*', operation: 3, permission: 3 }

for (const version of [3, 2]) {
  describeCodec(`DescribeAcls v${version}`, {
    api: describeAcls,
    version,
    request: {},
    encoded: ['01', '00', '01', '00', '00', '01', '01', '00'],
    answer: [
      '00000000',
      '0000',
      '01',
      '04',
      hex('02', '036f72', '04', '02', alice, '0931302e302e302e31', '04', '02', unknownTag, '00'),
      hex('07', '04626f62', '03', '02', alice, anyHost, '0d', '03', '00', unknownTag),
      hex(
        '02',
        '076f7264657273',
        '03',
        '03',
        alice,
        anyHost,
        '0303',
        '00',
        '07557365723a2a',
        anyHost,
        '0303',
        '00',
        '00',
      ),
      unknownTag,
    ],
    decoded: {
      errorCode: 0,
      errorMessage: '',
      acls: [
        { ...rule, resourceType: 2, resourceName: 'or', patternType: 4, host: '10.0.0.1', operation: 4, permission: 2 },
        { ...rule, resourceType: 7, resourceName: 'bob', patternType: 3, operation: 13 },
        { ...rule, resourceType: 2, resourceName: 'orders', patternType: 3 },
        { ...rule, resourceType: 2, resourceName: 'orders', patternType: 3, principal: 'User:*' },
      ],
    },
  })
}

describeCodec('DescribeAcls of a broker without an authorizer', {
  api: describeAcls,
  request: {},
  encoded: ['0100010000010100'],
  answer: ['0000000000362a4e6f20417574686f72697a657220697320636f6e66696775726564206f6e207468652062726f6b65720100'],
  decoded: { errorCode: 54, errorMessage: 'No Authorizer is configured on the broker', acls: [] },
})

for (const version of [3, 2]) {
  describeCodec(`CreateAcls v${version}`, {
    api: createAclsApi,
    version,
    request: {
      acls: [
        { ...rule, resourceType: 2, resourceName: 'orders', patternType: 3 },
        { ...rule, resourceType: 4, resourceName: 'wrong', patternType: 3 },
      ],
    },
    encoded: [
      '03',
      hex('02', '076f7264657273', '03', alice, anyHost, '03', '03', '00'),
      hex('04', '0677726f6e67', '03', alice, anyHost, '03', '03', '00'),
      '00',
    ],
    answer: [
      '00000000',
      '03',
      hex('0000', '01', unknownTag),
      hex('002a', '1a496e76616c6964206f7065726174696f6e20554e4b4e4f574e', '00'),
      unknownTag,
    ],
    decoded: {
      throttleMs: 0,
      results: [
        { errorCode: 0, errorMessage: '' },
        { errorCode: 42, errorMessage: 'Invalid operation UNKNOWN' },
      ],
    },
  })
}

describeCodec('DescribeClientQuotas v1', {
  api: describeClientQuotas,
  request: {},
  encoded: ['01', '00', '00'],
  answer: [
    '00000000',
    '0000',
    '01',
    '04',
    hex('03', '0a636c69656e742d6964', '04617070', '00', '0575736572', '06616c696365', unknownTag),
    hex('02', '13636f6e73756d65725f627974655f72617465', '4000000000000000', '00', '00'),
    hex('02', '0575736572', '00', '00'),
    hex('02', '13636f6e73756d65725f627974655f72617465', '3ff0000000000000', unknownTag, '00'),
    hex('02', '0575736572', '06616c696365', '00', '03'),
    hex('13726571756573745f70657263656e74616765', '4029000000000000', '00'),
    hex('1370726f64756365725f627974655f72617465', '4130000000000000', '00', unknownTag),
    unknownTag,
  ],
  decoded: {
    errorCode: 0,
    errorMessage: '',
    entries: [
      {
        entity: [
          { type: 'client-id', name: 'app' },
          { type: 'user', name: 'alice' },
        ],
        values: [{ key: 'consumer_byte_rate', value: 2 }],
      },
      { entity: [{ type: 'user', name: null }], values: [{ key: 'consumer_byte_rate', value: 1 }] },
      {
        entity: [{ type: 'user', name: 'alice' }],
        values: [
          { key: 'request_percentage', value: 12.5 },
          { key: 'producer_byte_rate', value: 1048576 },
        ],
      },
    ],
  },
})

describeCodec('AlterClientQuotas v1', {
  api: alterClientQuotas,
  request: {
    validateOnly: true,
    entries: [
      { entity: [{ type: 'ip', name: null }], values: [{ key: 'connection_creation_rate', value: 5 }] },
      { entity: [{ type: 'user', name: 'bad' }], values: [{ key: 'no_such', value: 5 }] },
    ],
  },
  encoded: [
    '03',
    hex('02', '036970', '00', '00', '02', '19636f6e6e656374696f6e5f6372656174696f6e5f72617465'),
    hex('4014000000000000', '00', '00', '00'),
    hex('02', '0575736572', '04626164', '00', '02', '086e6f5f73756368', '4014000000000000', '00', '00', '00'),
    '01',
    '00',
  ],
  answer: [
    '00000000',
    '03',
    hex('002a', '22496e76616c696420636f6e66696775726174696f6e206b6579206e6f5f73756368'),
    hex('02', '0575736572', '04626164', '00', unknownTag),
    hex('0000', '00', '02', '036970', '00', unknownTag, '00'),
    unknownTag,
  ],
  decoded: {
    throttleMs: 0,
    entries: [
      { entity: [{ type: 'user', name: 'bad' }], errorCode: 42, errorMessage: 'Invalid configuration key no_such' },
      { entity: [{ type: 'ip', name: null }], errorCode: 0, errorMessage: null },
    ],
  },
})

describeCodec('DescribeUserScramCredentials v0', {
  api: describeUserScramCredentials,
  request: {},
  encoded: ['01', '00'],
  answer: [
    '00000000',
    '0000',
    '01',
    '03',
    hex('04626f62', '0000', '01', '03', '02', '00001000', '00', '01', '00001000', unknownTag, '00'),
    hex('06616c696365', '0000', '01', '02', '02', '00001000', '00', unknownTag),
    unknownTag,
  ],
  decoded: {
    errorCode: 0,
    errorMessage: '',
    users: [
      {
        user: 'bob',
        errorCode: 0,
        errorMessage: '',
        credentials: [
          { mechanism: 2, iterations: 4096 },
          { mechanism: 1, iterations: 4096 },
        ],
      },
      { user: 'alice', errorCode: 0, errorMessage: '', credentials: [{ mechanism: 2, iterations: 4096 }] },
    ],
  },
})
