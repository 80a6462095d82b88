import { readPathCondition } from '../lib/path-condition.ts'
import { camelKeys } from './camel-keys.ts'
import { fields, type TextRule } from './leaf.ts'
import { choice } from './scalar-leaves.ts'
import { anyText, textList } from './text-leaves.ts'

const exactKey = { ...anyText, allowed: 'a key as text, or as `kafka-backup cat` shows it' }
const header: TextRule = {
  ...anyText,
  allowed: 'the name of a header, or name=value',
  pattern: '^[^=]',
  wrong: text => anyText.wrong(text) ?? (text.startsWith('=') ? 'has no name before the equals sign' : undefined),
}
const condition: TextRule = {
  ...anyText,
  allowed: 'a condition such as customer.id=42',
  wrong: text => {
    const read = readPathCondition(text)
    return anyText.wrong(text) ?? ('wrong' in read ? read.wrong : undefined)
  },
}

/** Which records are restored, by what is in them. The conditions are those of `kafka-backup search`. */
export const filterSchema = fields({
  keys: textList(exactKey, {
    description: 'Records with one of these keys: their bytes as text, or the key as `kafka-backup cat` shows it.',
    allowed: 'keys',
    min: 0,
  }).prefault([]),
  key_prefixes: textList(exactKey, {
    description: 'Records whose key begins with one of these, or is one of `keys`.',
    allowed: 'beginnings of keys',
    min: 0,
  }).prefault([]),
  headers: textList(header, {
    description: 'Records with all of these headers: `name`, or `name=value`.',
    allowed: 'names of headers, or name=value',
    min: 0,
  }).prefault([]),
  texts: textList(anyText, {
    description:
      'Records whose value contains all of these: in its bytes, or decoded with the schemas of the backup, as `kafka-backup cat` shows it.',
    allowed: 'texts',
    min: 0,
  }).prefault([]),
  where: textList(condition, {
    description:
      'Records whose value, decoded with the schemas of the backup or as JSON, meets all of these conditions, such as `customer.id=42`, ' +
      '`items[*].price>100` or `status!=done`.',
    allowed: 'conditions such as customer.id=42',
    min: 0,
  }).prefault([]),
  not_decoded: choice(['fail', 'skip', 'take'], {
    description:
      'What happens to a record when the filter needs its key or value and cannot decode it: `fail` stops the restore, `skip` leaves it out, ' +
      '`take` restores it. The report counts such records.',
  }).prefault('fail'),
})
  .transform(filter => camelKeys(filter, {}))
  .meta({
    description:
      'Restores only records that meet all of these conditions. Consumer groups are not carried over then, unless ' +
      '`consumer_groups.include` names them.',
  })
