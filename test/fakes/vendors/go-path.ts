/**
 * The segments that a router written in Go sees. Where the path is encoded exactly as Go would encode it, they are
 * decoded, slashes of names included; anywhere else the path is compared as it came, percent signs and all.
 */
export function segmentsOfGo(path: string): string[] {
  const decoded = decodeURIComponent(path)
  const seen = encodePathOfGo(decoded) === path ? decoded : path
  return seen.split('/').slice(1)
}

/** RFC 3986 lets these stand in a path. Go encodes every other character, also the five that JavaScript leaves. */
function encodePathOfGo(text: string): string {
  const encoded = encodeURIComponent(text).replace(/%(?:24|26|2B|2C|2F|3A|3B|3D|40)/g, decodeURIComponent)
  return encoded.replace(/[!'()*]/g, character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
}
