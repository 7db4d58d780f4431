/** The meaning of an error code, and its remedy: the page that `envoi explain` prints. */

import type { JSX } from "preact";

import { Markdown } from "../parts/rendered.js";
import { Shown, titled } from "../parts/status.js";
import { Line } from "../parts/untrusted.js";
import { useLoaded } from "../state/load.js";
import { at } from "../state/router.js";
import type { ErrorPage } from "../wire/api.js";
import { Refused, json } from "../wire/request.js";

/** A code, with a link to what it means. */
export const Code = ({ code }: { code: string }): JSX.Element => <a href={at("code", code)}><code><Line text={code} /></code></a>;

export function CodeScreen({ code }: { code: string }): JSX.Element {
  const loaded = useLoaded<ErrorPage>((signal) => json(`errors/${encodeURIComponent(code)}`, { signal }), [code], () => false);
  titled(code);
  const isUnknown = loaded.error instanceof Refused && loaded.error.status === 404;
  return (
    <section class="page">
      <h1><Line text={code} /></h1>
      {isUnknown ? <p>Envoi has no such code. A step, or a program that it runs, has said it.</p> : <Shown of={loaded}>{({ page }) => <Markdown text={page.replace(/^#[^\n]*\n/, "")} />}</Shown>}
    </section>
  );
}
