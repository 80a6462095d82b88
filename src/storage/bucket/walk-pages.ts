import { KafkaBackupError } from '../../errors.ts'

/** All pages of a list, each asked for with what the one before said. */
export async function* walkPages<Page extends { next: string | undefined }>(
  ask: (from: string | undefined) => Promise<Page>,
  location: string,
): AsyncGenerator<Page> {
  let from: string | undefined
  do {
    const page: Page = await ask(from)
    yield page
    if (page.next !== undefined && page.next === from) {
      throw new KafkaBackupError(
        'STORAGE_UNAVAILABLE',
        `${location} answers a list of objects with the same page again`,
      )
    }
    from = page.next
  } while (from !== undefined)
}
