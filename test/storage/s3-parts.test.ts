import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { PartBuffer, PartMemory } from '../../src/storage/bucket/part-buffer.ts'
import { resolveS3Options } from '../../src/storage/s3/s3-options.ts'
import { checksumFields, uploadChecksumFields } from '../../src/storage/s3/sdk.ts'

const KiB = 1024

describe('the buffer of a part', () => {
  test('holds what was filled in, up to the size of a part', () => {
    const part = new PartBuffer(new PartMemory(100 * KiB, 1), true)
    assert.equal(part.fill(Buffer.alloc(70 * KiB, 1)), 70 * KiB)
    assert.equal(part.isFull, false)
    assert.equal(part.fill(Buffer.alloc(70 * KiB, 2)), 30 * KiB)
    assert.equal(part.isFull, true)
    assert.equal(part.fill(Buffer.alloc(1)), 0)
    assert.deepEqual(part.bytes, Buffer.concat([Buffer.alloc(70 * KiB, 1), Buffer.alloc(30 * KiB, 2)]))
  })

  test('is small for a small object and whole from the second part on', () => {
    const memory = new PartMemory(1024 * KiB, 1)
    const first = new PartBuffer(memory, true)
    first.fill(Buffer.alloc(10))
    assert.equal(first.bytes.buffer.byteLength, 64 * KiB)
    const second = new PartBuffer(memory, false)
    second.fill(Buffer.alloc(10))
    assert.equal(second.bytes.buffer.byteLength, 1024 * KiB)
  })

  test('frees the memory that it has outgrown', () => {
    const given: Buffer[] = []
    class WatchedMemory extends PartMemory {
      override take(bytes: number): Buffer {
        given.push(super.take(bytes))
        return given.at(-1) as Buffer
      }
    }
    const part = new PartBuffer(new WatchedMemory(1024 * KiB, 1), true)
    for (let i = 0; i < 16; i++) part.fill(Buffer.alloc(64 * KiB, i))
    assert.deepEqual(
      given.map(({ length }) => length),
      [64 * KiB, 0, 0, 1024 * KiB],
      'all but the smallest, and a quarter grows to a full part',
    )
    assert.deepEqual(part.bytes, Buffer.concat(Array.from({ length: 16 }, (_, i) => Buffer.alloc(64 * KiB, i))))
  })

  test('gives its memory to the next', () => {
    const memory = new PartMemory(100 * KiB, 1)
    const parts = [new PartBuffer(memory, false), new PartBuffer(memory, false)]
    for (const part of parts) part.fill(Buffer.alloc(1))
    const used = parts.map(part => part.bytes.buffer)
    for (const part of parts) part.free()
    assert.equal(parts[0]?.bytes.length, 0)
    assert.equal(memory.take(100 * KiB).buffer, used[0])
    assert.notEqual(memory.take(100 * KiB).buffer, used[1], 'more than it may keep')
  })
})

describe('the memory of parts', () => {
  test('is kept for as many parts as it has room for', () => {
    const memory = new PartMemory(100 * KiB, 1)
    memory.join()
    const used = [memory.take(100 * KiB), memory.take(100 * KiB)]
    for (const buffer of used) memory.give(buffer)
    assert.deepEqual(new Set([memory.take(100 * KiB), memory.take(100 * KiB)]), new Set(used))
  })

  test('is not kept for writers that have left', () => {
    const memory = new PartMemory(100 * KiB, 1)
    const leave = [memory.join(), memory.join()]
    const used = Array.from({ length: 3 }, () => memory.take(100 * KiB))
    for (const buffer of used) memory.give(buffer)
    for (const each of leave) each()
    const again = new Set(Array.from({ length: 3 }, () => memory.take(100 * KiB)))
    assert.equal(used.filter(buffer => again.has(buffer)).length, 1)
  })

  test('has room for one part of each writer and for those that are uploaded, and not for more while last parts wait', async () => {
    const memory = new PartMemory(100 * KiB, 2)
    const leave = [memory.join(), memory.join()]
    const parts = Array.from({ length: 4 }, () => {
      assert.equal(memory.hasRoom, true)
      const part = new PartBuffer(memory, false)
      part.fill(Buffer.alloc(1))
      return part
    })
    assert.equal(memory.hasRoom, false)
    for (const each of leave) each()
    leave[0]?.()
    memory.join()
    // One that is written to, two that are uploaded: four are too many.
    let isFree = false
    const waiting = memory.room(new AbortController().signal).then(() => {
      isFree = true
    })
    parts[0]?.free()
    await new Promise(resolve => setImmediate(resolve))
    assert.equal(isFree, false)
    parts[1]?.free()
    await waiting
    assert.equal(memory.hasRoom, true)
  })

  test('stops waiting when the signal is aborted', async () => {
    const memory = new PartMemory(100 * KiB, 0)
    const stop = new AbortController()
    const waiting = memory.room(stop.signal)
    stop.abort(new Error('stopped'))
    await assert.rejects(waiting, /stopped/)
  })
})

describe('checksums', () => {
  test('are the ones that S3 computes', () => {
    const body = Buffer.from('123456789')
    assert.deepEqual(checksumFields('crc32c', body), {
      ChecksumCRC32C: Buffer.from('e3069283', 'hex').toString('base64'),
    })
    assert.deepEqual(checksumFields('crc32', body), {
      ChecksumCRC32: Buffer.from('cbf43926', 'hex').toString('base64'),
    })
    assert.deepEqual(checksumFields('md5', body), { ContentMD5: 'JfnnlDI7RTiF9RgfG2JNCw==' })
    assert.deepEqual(checksumFields('sha256', body), { ChecksumSHA256: 'FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU=' })
    assert.deepEqual(checksumFields('none', body), {})
  })

  test('of parts are announced, where S3 has a name for them', () => {
    assert.deepEqual(uploadChecksumFields('crc32c'), { ChecksumAlgorithm: 'CRC32C' })
    assert.deepEqual(uploadChecksumFields('md5'), {})
  })
})

describe('region and endpoint', () => {
  const bucket = { bucket: 'bkt' }

  test('come from the environment where they are not given', () => {
    const env = {
      AWS_REGION: 'eu-1',
      AWS_DEFAULT_REGION: 'eu-2',
      AWS_ENDPOINT_URL: 'https://all',
      AWS_ENDPOINT_URL_S3: '',
    }
    assert.deepEqual(resolveS3Options(bucket, env), {
      ...bucket,
      region: 'eu-1',
      endpoint: 'https://all',
      pathStyle: true,
    })
    const given = { ...bucket, region: 'x', endpoint: 'https://y', pathStyle: false }
    assert.deepEqual(resolveS3Options(given, { ...env, AWS_ENDPOINT_URL_S3: 'https://s3' }), given)
  })

  test('an endpoint of the environment with a login is refused, because the location is shown', () => {
    for (const endpoint of ['https://user:pw@minio', 'user:pw@minio:9000', 'https://minio?key=pw']) {
      for (const variable of ['AWS_ENDPOINT_URL', 'AWS_ENDPOINT_URL_S3']) {
        assert.throws(
          () => resolveS3Options(bucket, { [variable]: endpoint }),
          ({ code, message, help }) =>
            code === 'LOCATION_INVALID' &&
            message === `${variable} contains more than an address` &&
            !help.includes('pw'),
        )
      }
    }
  })

  test('at AWS the bucket stands in the host name and the region is asked for', () => {
    assert.deepEqual(resolveS3Options(bucket, {}), { ...bucket, pathStyle: false })
  })

  test('at another endpoint the bucket stands in the path and any region does', () => {
    const at = { ...bucket, endpoint: 'https://minio' }
    assert.deepEqual(resolveS3Options(at, {}), { ...at, region: 'us-east-1', pathStyle: true })
  })
})
