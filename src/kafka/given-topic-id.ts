import { type MetadataTopic, NO_TOPIC_ID } from './api/metadata.ts'
import { isIdOfName } from './named-topic-id.ts'

/** Undefined where brokers give topics no IDs, as before Kafka 2.8. */
export function givenId({ id, name }: Pick<MetadataTopic, 'id' | 'name'>): string | undefined {
  return id === '' || id === NO_TOPIC_ID || isIdOfName(id, name) ? undefined : id
}

/** Whether another topic has the name by now; not known where one of the IDs is not. */
export function isReplaced(noted: string | undefined, now: Pick<MetadataTopic, 'id' | 'name'>): boolean {
  const id = givenId(now)
  return noted !== undefined && id !== undefined && id !== noted
}
