import { openFilesystemStorage } from '../../src/storage/file/filesystem.ts'
import { storageSuite, variantSizes } from '../suites/storage-suite.ts'
import { diskFolder } from '../test-environment.ts'
import { openTemporary } from './temporary-storage.ts'

storageSuite('filesystem', () => openTemporary(path => openFilesystemStorage({ path }), diskFolder()))

storageSuite(
  'filesystem with a prefix',
  () => openTemporary(path => openFilesystemStorage({ path, prefix: 'team/a' })),
  variantSizes,
)
