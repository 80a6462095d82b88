import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { BackupJob } from '../../src/config/load-job.ts'
import { errorsOf, minimalJob, parse } from './job-texts.ts'

const accepted: Record<string, [set: string, read: (job: BackupJob) => unknown, expected: unknown]> = {
  'a size with a binary unit': ['backup.segment_bytes=64MiB', job => job.backup.segmentBytes, 67_108_864],
  'a size with a decimal unit': ['backup.segment_bytes=64MB', job => job.backup.segmentBytes, 64_000_000],
  'a size in bytes': ['backup.segment_bytes=1048576', job => job.backup.segmentBytes, 1_048_576],
  'the largest size': ['backup.segment_bytes=4GiB', job => job.backup.segmentBytes, 4_294_967_296],
  'a duration in minutes': ['backup.commit_interval=5m', job => job.backup.commitIntervalMs, 300_000],
  'a duration in milliseconds': ['source.request_timeout=1500ms', job => job.source.requestTimeoutMs, 1500],
  'an integer': ['backup.connections_per_broker=16', job => job.backup.connectionsPerBroker, 16],
  'an IPv6 broker': ["source.bootstrap_servers=['[::1]:9092']", job => job.source.bootstrapServers, ['[::1]:9092']],
  'an address to listen on, as a pod of IPv6 has it': [
    'metrics.listen="fd00:10:244::7:8080"',
    job => job.metrics?.listen,
    'fd00:10:244::7:8080',
  ],
  'an IPv4 address to listen on in brackets': [
    'metrics.listen="[10.0.0.7]:8080"',
    job => job.metrics?.listen,
    '[10.0.0.7]:8080',
  ],
  'an address to listen on in brackets': ['metrics.listen="[::1]:8080"', job => job.metrics?.listen, '[::1]:8080'],
  'brokers as one text': ['source.bootstrap_servers=a:1, b:2', job => job.source.bootstrapServers, ['a:1', 'b:2']],
  'a key prefix': ['storage.prefix=prod/eu', job => job.storage.prefix, 'prod/eu'],
  'a backup id of 200 characters': [`backup_id=${'x'.repeat(200)}`, job => job.backupId.length, 200],
  'brackets around a listen address of either family': [
    'metrics={listen: "[10.0.0.7]:8080"}',
    job => job.metrics?.listen,
    '[10.0.0.7]:8080',
  ],
  'a listen address of IPv6': ['metrics={listen: "[fd00::7]:8080"}', job => job.metrics?.listen, '[fd00::7]:8080'],
  'a relative folder': ['storage.path=./backups', job => 'path' in job.storage && job.storage.path, './backups'],
}

describe('a field accepts', () => {
  for (const [name, [set, read, expected]] of Object.entries(accepted)) {
    test(name, () => assert.deepEqual(read(parse(minimalJob, { set: [set] })), expected))
  }
})

const refused: Record<string, [set: string, message: string]> = {
  'an empty backup id': ['backup_id=""', 'backup_id: "" is empty'],
  'a backup id that begins with a dot': ['backup_id=.x', 'backup_id: ".x" begins with a dot'],
  'a backup id of 201 characters': [`backup_id=${'x'.repeat(201)}`, `"${'x'.repeat(57)}..." has 201 characters`],
  'a backup id with a slash': ['backup_id=a/b', 'backup_id: "a/b" has a character that is not allowed'],
  'the folder of snapshots as a backup id': [
    'backup_id=offset-snapshots',
    'backup_id: "offset-snapshots" is where snapshots of consumer groups are kept',
  ],
  'no brokers': ['source.bootstrap_servers=[]', 'source.bootstrap_servers: is an empty list'],
  'a broker with a scheme': [
    'source.bootstrap_servers.0=tcp://a:1',
    'source.bootstrap_servers.0: "tcp://a:1" has a scheme',
  ],
  'a broker with an empty port': ['source.bootstrap_servers.0="a:"', '"a:" has no port'],
  'a broker with port 0': ['source.bootstrap_servers.0=a:0', '"a:0" has a port outside 1 to 65535'],
  'a bare IPv6 broker': ['source.bootstrap_servers.0=fe80::1:9092', 'needs [ ] around its IPv6 address'],
  'an IPv6 address to listen on without a port': ['metrics.listen="fd00::7"', 'needs [ ] around its IPv6 address'],
  'an IPv6 address of eight groups to listen on, without a port': [
    'metrics.listen="fd00:1:2:3:4:5:6:8080"',
    'needs [ ] around its IPv6 address',
  ],
  'an address to listen on with a port that is none': ['metrics.listen="::1:70000"', 'port outside 1 to 65535'],
  'an IPv6 broker that is none': ['source.bootstrap_servers.0="[1]:9092"', '"[1]:9092" has no valid host'],
  'brackets around an IPv4 broker': ['source.bootstrap_servers.0="[10.0.0.7]:9092"', 'has no valid host'],
  'a listen address in brackets that is none': ['metrics={listen: "[1.2.x]:8080"}', 'has no valid host'],
  'a comma at the end of brokers': ['source.bootstrap_servers="a:1,"', 'source.bootstrap_servers: "a:1," is empty'],
  'no topics': ['source.topics.include=[]', 'source.topics.include: is an empty list'],
  'a regular expression as topic': ['source.topics.include.0=a(b|c)', '"a(b|c)" is not a topic name or pattern'],
  'a list item without a value': ['source.topics.include=[a, null]', 'source.topics.include.1: has no value'],
  'a map as list item': ['source.topics.include=[{a: b}]', 'source.topics.include.0: a map is not a text'],
  'a client id with a space': ['source.client_id=a b', 'source.client_id: "a b" is not a client id'],
  'a duration without a unit': ['source.request_timeout=30', 'source.request_timeout: "30" has no unit'],
  'a duration that is too short': ['backup.commit_interval=999ms', 'backup.commit_interval: "999ms" is too short'],
  'a duration that is too long': ['backup.commit_interval=8d', 'backup.commit_interval: "8d" is too long'],
  'a duration that is none': ['backup.commit_interval=soon', 'backup.commit_interval: "soon" is not a duration'],
  'a size that is too small': ['backup.segment_bytes=1023KiB', 'backup.segment_bytes: "1023KiB" is too small'],
  'a size that is too large': ['backup.segment_bytes=5GiB', 'backup.segment_bytes: "5GiB" is too large'],
  'a size that is none': ['backup.segment_bytes=big', 'backup.segment_bytes: "big" is not a size'],
  'a memory budget below 32 MiB': ['backup.memory_budget=31MiB', 'backup.memory_budget: "31MiB" is too small'],
  'an integer that is too small': ['backup.connections_per_broker=0', '"0" is too small; allowed: 1 to 16'],
  'an integer that is too large': ['backup.connections_per_broker=17', '"17" is too large; allowed: 1 to 16'],
  'a broken integer': ['backup.connections_per_broker=1.5', '"1.5" is not a whole number'],
  'an unknown choice': ['backup.on_gap=ignore', 'backup.on_gap: "ignore" is not known; allowed: warn, fail'],
  'a choice in other letters': [
    'backup.on_gap=Fail',
    '"Fail" is not known; allowed: warn, fail (did you mean `fail`?)',
  ],
  'a choice without a value': ['backup.on_gap=null', 'backup.on_gap: has no value; allowed: warn, fail'],
  'another backend': [
    'storage.backend=tape',
    'storage.backend: "tape" is not known; allowed: filesystem, s3, azure, gcs',
  ],
  'storage as a location': ['storage=/backups', 'storage: is a single value; allowed: a map of backend, ...'],
  'a folder of the shell': ['storage.path=~/b', 'begins with ~, which only a shell expands'],
  'a URL as folder': ['storage.path=file:///b', 'storage.path: "file:///b" is a URL'],
  'a prefix that leads out': ['storage.prefix=a/../b', '"a/../b" has a name that begins with a dot'],
  'a prefix with a leading slash': ['storage.prefix=/a', 'storage.prefix: "/a" begins with a slash'],
  'a prefix with a trailing slash': ['storage.prefix=a/', 'storage.prefix: "a/" ends with a slash'],
  'a prefix with an empty name': ['storage.prefix=a//b', 'storage.prefix: "a//b" is not a key prefix'],
  'a prefix too long for a store': [`storage.prefix=${'x'.repeat(201)}`, 'is too long'],
}

describe('a field refuses', () => {
  for (const [name, [set, message]] of Object.entries(refused)) {
    test(name, () => {
      const errors = errorsOf(minimalJob, { set: [set] })
      assert.equal(errors.length, 1, errors.join('\n'))
      assert.ok(errors[0]?.includes(message), errors[0])
    })
  }

  test('an unquoted number where a text belongs, and says to quote it', () => {
    const [error = ''] = errorsOf(minimalJob.replace('nightly', '20240131'))
    assert.match(
      error,
      /^backup_id: 20240131 is read as a number, but this is a text: put quotes around it; .* \[line 2\]$/,
    )
  })
})
