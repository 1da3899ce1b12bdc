# Renders AsciiDoc with Asciidoctor, a whole document as Antora and the command write one: one JSON value a line.

require 'asciidoctor'
require 'json'
require 'timeout'

MAX_SECONDS = 2
# A page cannot switch on that addresses are read: nothing here has a network.
ATTRIBUTES = { 'linkcss' => '', 'showtitle' => '', 'allow-uri-read' => nil }.freeze
OPTIONS = { safe: :unsafe, standalone: true, attributes: ATTRIBUTES }.freeze

# Names what a page includes, and reads nothing.
class Includes < Asciidoctor::Extensions::IncludeProcessor
  def handles?(_target) = true

  def process(_document, reader, target, _attributes)
    $found << ['included', target]
    reader.push_include('included', target, target, 1, {})
  end
end

# Names the images that a page takes in as data, and reads none.
module DataUris
  def generate_data_uri(target, _directory = nil)
    $found << ['included', target]
    'data:image/png;base64,'
  end
end

Asciidoctor::AbstractNode.prepend(DataUris)
Asciidoctor::Extensions.register { include_processor Includes }
Asciidoctor::LoggerManager.logger = Asciidoctor::NullLogger.new
$stdout.sync = true

$stdin.each_line do |line|
  request = JSON.parse(line)
  $found = []
  begin
    html = Timeout.timeout(MAX_SECONDS) { Asciidoctor.convert(request['text'], **OPTIONS) }
    puts JSON.generate({ html: html, found: $found })
  rescue StandardError, NotImplementedError => e
    puts JSON.generate({ error: e.message[0, 200], found: $found })
  end
end
