// The parts of an OpenAPI document that its generator changes.
export type Json = Record<string, unknown>

export interface Operation extends Json {
  readonly operationId: string
  readonly tags: readonly string[]
  parameters?: Json[]
  readonly requestBody?: { readonly content: Record<string, Media> }
  readonly responses: Record<string, Json>
  readonly 'x-problems'?: readonly string[]
}

export interface Media extends Json {
  readonly schema: Json
}

export type Paths = Record<string, Record<string, Operation>>

export interface OpenapiDocument extends Json {
  readonly paths: Paths
  readonly webhooks?: Paths
  readonly components: Record<string, Record<string, Json>>
}

export function operationsOf({ paths, webhooks = {} }: OpenapiDocument): Operation[] {
  return [paths, webhooks]
    .flatMap((items) => Object.values(items))
    .flatMap((item) => Object.values(item))
}

/** The name of a component. */
export function pascalCase(words: string): string {
  return words.replaceAll(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, letter: string) =>
    letter.toUpperCase(),
  )
}
