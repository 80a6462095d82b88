import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject } from '../../../src/operator/kube/object.ts'
import { type Change, formatKey, ObjectStore, parseKey } from '../../../src/operator/watch/store.ts'

test('finds objects by namespace and name, and by owner', () => {
  const { store } = openStore()
  store.put(newObject('one', 'a', '1', ['owner-1']))
  store.put(newObject('two', 'a', '2', ['owner-1', 'owner-2']))
  assert.equal(store.get('two/a')?.metadata.resourceVersion, '2')
  assert.equal(store.get('three/a'), undefined)
  assert.deepEqual(keysOf(store.ownedBy('owner-1')), ['one/a', 'two/a'])
  assert.deepEqual(keysOf(store.ownedBy('owner-2')), ['two/a'])
  assert.deepEqual(store.ownedBy('nobody'), [])
})

test('an object with a new owner is not listed under the old one', () => {
  const { store } = openStore()
  store.put(newObject('one', 'a', '1', ['old']))
  store.put(newObject('one', 'a', '2', ['new']))
  assert.deepEqual(store.ownedBy('old'), [])
  assert.deepEqual(keysOf(store.ownedBy('new')), ['one/a'])
  store.remove(newObject('one', 'a', '3', ['new']))
  assert.deepEqual(store.ownedBy('new'), [])
})

test('a list reports removed, new and changed objects only', () => {
  const { store, changes } = openStore()
  for (const name of ['gone', 'same', 'changed', 'replaced']) store.put(newObject('one', name, '1'))
  changes.length = 0
  const replaced = newObject('one', 'replaced', '1')
  replaced.metadata.uid = 'another'
  store.replaceAll([
    newObject('one', 'same', '1'),
    newObject('one', 'changed', '2'),
    replaced,
    newObject('one', 'fresh', '3'),
  ])
  assert.deepEqual(
    changes.map(({ key, before, after }) => [key, before?.metadata.uid, after?.metadata.uid]),
    [
      ['one/gone', 'uid of gone', undefined],
      ['one/changed', 'uid of changed', 'uid of changed'],
      ['one/replaced', 'uid of replaced', 'another'],
      ['one/fresh', undefined, 'uid of fresh'],
    ],
  )
  assert.equal(store.size, 4)
})

test('does not store managed fields', () => {
  const { store } = openStore()
  const object = newObject('one', 'a', '1')
  Object.assign(object.metadata, { managedFields: [{}] })
  store.put(object)
  assert.ok(!('managedFields' in (store.get('one/a')?.metadata ?? {})))
})

test('a key is the namespace and the name', () => {
  for (const ref of [{ namespace: 'one', name: 'a' }, { name: 'of-the-cluster' }]) {
    assert.deepEqual(parseKey(formatKey(ref)), ref)
  }
})

function openStore() {
  const changes: Change<KubeObject>[] = []
  return { store: new ObjectStore<KubeObject>(change => changes.push(change)), changes }
}

function newObject(namespace: string, name: string, resourceVersion: string, owners: string[] = []): KubeObject {
  const ownerReferences = owners.map(uid => ({ apiVersion: 'v1', kind: 'Owner', name: 'owner', uid }))
  const metadata = { namespace, name, uid: `uid of ${name}`, resourceVersion, ownerReferences }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata }
}

function keysOf(objects: KubeObject[]): string[] {
  return objects.map(({ metadata }) => formatKey(metadata)).sort()
}
